"""The fields of OpenDP's registry of deployments, as far as they are known for a release.

The proposal is Nanayakkara, Ghazi & Vadhan (2025), arXiv:2509.13509. The names of fields are those of the
registry. The person who registers the release fills in the fields that are None.
"""

from __future__ import annotations

from typing import Any

from privfit.accounting import Direct, Gaussian, Promise
from privfit.models.origin import Origin


def registry_entry(
    subject: str, promise: Promise, origin: Origin, public: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Return the entry of a release.

    Parameters
    ----------
    subject : str
        What was released: "model", for example.
    promise : Promise
        What was promised.
    origin : Origin
        The origin of the release.
    public : tuple of str
        The facts that are public, assumed or not covered.

    Returns
    -------
    entry : dict
        The fields by section.
    """
    pairs = {"epsilon": promise.epsilon, "delta": promise.delta}
    if isinstance(promise, Direct):
        flavor = "Approximate DP"
    else:
        flavor, pairs = "Zero-concentrated DP", pairs | {"rho": promise.rho}
    if isinstance(promise, Gaussian):
        flavor, pairs = "Gaussian DP", pairs | {"mu": promise.mu}
    return {
        "product": {
            "name": None,
            "data_curators": None,
            "intended_use": None,
            "data_product_type": "Machine learning model" if subject == "model" else "Summary statistics",
            "description": f"A {subject} of privfit",
            "publication_date": None,
        },
        "dp_flavor": {
            "name": flavor,
            "input_metric": f"number of {promise.unit}s added or removed",
            "bound_on_input_distance": 1,
            "data_domain": origin.dataset,
            "unprotected_quantities": list(public),
        },
        "privacy_loss": {
            "privacy_unit": promise.unit,
            "privacy_unit_description": promise.adjacency,
            "privacy_parameters": pairs,
        },
        "model": {
            "model_name": "Central",
            "actors": None,
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "post_processing": "Everything that is computed from the noisy answers",
            "composition": "A privacy filter with a total that was fixed beforehand",
        },
        "implementation": {
            "pre_processing_eda_hyperparameter_tuning": None,
            "mechanisms": "privfit; the charges of the evidence list every mechanism",
            "justification": None,
        },
    }
