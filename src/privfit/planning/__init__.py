"""Planning: forecast the accuracy of private models by simulation, before any data are read."""

from privfit.planning.forecast import Forecast, Plan, plan
from privfit.planning.people import PeopleNeeded, people_needed

__all__ = ["Forecast", "PeopleNeeded", "Plan", "people_needed", "plan"]
