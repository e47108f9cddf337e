"""The claims of docs/privacy.md, in one sentence each. Evidence quotes them."""

from __future__ import annotations

from typing import Final

CLAIMS: Final = {
    "P1": "Gaussian noise of standard deviation sigma on a sum of L2 sensitivity S costs rho = S^2/(2 "
    "sigma^2) in zCDP.",
    "P2": "A choice by Laplace or exponential noise of scale b on scores of width W costs rho = (W/b)^2/2.",
    "P3": "A choice by Gumbel noise of scale b on scores of width W costs rho = (W/b)^2/8.",
    "P4": "rho-zCDP implies (epsilon, delta)-DP, by the best Renyi order.",
    "P5": "If a total is fixed beforehand and no charge may exceed it, all answers together are private at "
    "that total, although every price may depend on earlier answers.",
    "P6": "A single release with a proof of its own is (epsilon, delta)-DP; its ledger pays for it alone.",
    "P7": "If all noise is Gaussian, all answers together are mu-Gaussian DP with mu = sqrt(2 rho), which "
    "converts exactly to (epsilon, delta).",
    "Q1": "Each record's gradient is clipped to norm C, so one record moves the sum by at most C and a bound "
    "of the rounding.",
    "Q2": "The sum of the entry before is measured once more with fresh noise, and the two are averaged.",
    "Q3": "Each record's loss is clipped to [0, C], so one record moves every score by a number in [0, C] "
    "and a bound of the rounding.",
    "Q4": "One record moves the number of records by 1.",
    "Q7": "Each record is in one bin of the histogram of norms, so one record moves the counts by 1.",
    "Q8": "Each record adds a vector of norm 1 to the histograms of the columns' sizes.",
    "Q9": "Each record is shrunk until its features and their squares fit declared norms, which bound what "
    "it adds.",
    "Q10": "A record adds to each step's score a rise of its loss, which lies in an interval bounded by the "
    "loss's Lipschitz constant.",
    "Q11": "Each record adds 1 to one bin of each of the p columns, a vector of norm sqrt(p).",
    "Q12": "A record adds to each candidate's score a change of its loss, which lies in an interval bounded "
    "by the loss's Lipschitz constant.",
    "Q14": "Each row is shrunk to norm R, so one record adds a matrix of Frobenius norm at most R^2 and a "
    "bound of the rounding.",
    "Q15": "No coordinate of a record's gradient is larger than C, so the scores of the corners change "
    "within an interval of width 2 C.",
    "Q16": "Each held-out record adds one row of a public table to the sums, and the longest row bounds it.",
    "Q17": "Each record adds its bounded target, or its slope shortened to a norm, which bounds it.",
    "Q18": "Each record's derivatives in the scale and the intercepts are shortened together to a norm.",
    "Q20": "Each record is in one bin of the histogram of residuals, so one record moves the counts by 1.",
    "Q21": "Each row is shrunk to norm R and each target clipped to B, so one record adds a vector of norm "
    "at most sqrt(R^4 + B^2 R^2).",
    "Q23": "Each record adds a weight between 0 and 1.",
    "Q24": "Each record adds a number between 0 and 1 to the sum of its class alone.",
    "Q26": "Each person's sum of clipped gradients is clipped again to norm C, so one person, with all "
    "records, moves the sum by at most C and a bound of the rounding.",
    "Q27": "One person, with all records, moves the number of people by 1.",
    "Q33": "Each record is shortened by the length of its features, which bounds what it adds to the "
    "gradient and to the two matrices of the effects.",
    "Q34": "One person's summed scores have norm at most k L R, so one person adds a matrix of norm at most "
    "its square.",
    "Q35": "The differences of a record's losses are shortened to a norm, which with two level sums bounds "
    "what it adds.",
    "Q36": "A coin puts each record into one of two parts, so both parts together cost what one of them may "
    "cost.",
    "Q40": "Each record is shortened by the length of its features, which bounds what it adds to the "
    "gradient and to the two matrices of the effects of several classes.",
    "U1": "Gradient descent on a strongly convex or smooth loss moves by a bounded distance if one record is "
    "added or removed, and Gaussian noise of that size is added to its end.",
    "O1": "Objective perturbation: the minimum of a randomly tilted objective is (epsilon, delta)-DP.",
    "O2": "Approximate minima perturbation: a point near the minimum of a randomly tilted objective, with "
    "noise added to it, is (epsilon, delta)-DP.",
    "G1": "Noisy gradient sums over Poisson samples are (epsilon, delta)-DP by numerical composition.",
    "G2": "Noisy gradient sums over Poisson samples are (epsilon, delta)-DP by advanced composition.",
}

# By the kind of a promise: the claims that turn a privacy budget into (epsilon, delta).
THEOREMS: Final = {
    "gaussian": ("P1", "P7"),
    "concentrated": ("P1", "P2", "P3", "P4", "P5"),
    "direct": ("P6",),
}

ELSEWHERE: Final = "docs/privacy.md states and proves this claim."


def sentence_of(claim: str) -> str:
    """Return the sentence of a claim.

    Parameters
    ----------
    claim : str
        The number of the claim, such as "Q1".

    Returns
    -------
    sentence : str
        The claim; for a claim that this version of privfit does not know, where to find it.
    """
    return CLAIMS.get(claim, ELSEWHERE)
