"""What to expect before any data are touched: forecasts from simulations on people who do not exist."""

from privfit.planning.forecast import Forecast, Plan, plan
from privfit.planning.people import PeopleNeeded, people_needed

__all__ = ["Forecast", "PeopleNeeded", "Plan", "people_needed", "plan"]
