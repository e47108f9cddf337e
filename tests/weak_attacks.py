"""Cases of `privfit audit` whose canary moves the attacker by less than half of what is claimed, and why."""

WEAK = {
    "selection, laplace noise": (
        "The price is that of any pure mechanism. The audited choice is between two candidates, and the "
        "canary moves the score of one. The probability that a candidate wins then changes by the factor "
        "exp(epsilon) only if it hardly ever wins, and by about the root of it if it wins often."
    ),
    "dpagd": (
        "As in the paper, Laplace noise is paid for at the price of any pure mechanism, and the classic "
        "conversion turns the budget into epsilon. Both claim more than the algorithm needs."
    ),
}
