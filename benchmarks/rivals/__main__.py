"""Install every rival and encoder, and print which of them can be run; `make rivals` calls this."""

from rivals.encoders import ENCODERS
from rivals.environments import RIVALS, Environment

for name in (*RIVALS, *ENCODERS):
    environment = Environment(name)
    if environment.missing():
        print(f"{name}: setting up .rivals/{name} (once; a few minutes)", flush=True)
    environment.set_up()
    reason = environment.missing()
    print(f"{name}: " + (f"skipped, because {reason}" if reason else "ready"), flush=True)
