"""A page about a stranger's model: whatever its names say, the markup is ours."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from test_page import Scores, fitted

from privfit import DPLogisticRegression, Schema
from privfit.models.targets import TwoLabels
from privfit.report import render
from privfit.schema import Categorical, Label, Numeric

EVIL = (
    "'\"></text></svg></td></table></title></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    "<a href=javascript:alert(1)>&#x3c;script&#62;{{7*7}}${7*7}<!--]]>\x00\x1b\x9b\u202e\u2066"
)


class Markup(HTMLParser):
    """The tags of a page, with the names of their attributes, and the values of those that may act."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attributes):
        values = {name: value for name, value in attributes if name not in ("aria-label", "content")}
        self.tags.append((tag, [name for name, _ in attributes], values))

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")

    def handle_comment(self, data):
        self.tags.append(("comment", data))


def markup(page):
    parser = Markup()
    parser.feed(page)
    return parser.tags


def spoken(model, text):
    """Return what is published of a model, with this text wherever a stranger could have written one."""
    privacy = model.privacy | {
        "relation": text,
        "assumptions": [text, text],
        "notes": [text],
        "spending": {f"{text}{i}": rho for i, rho in enumerate(model.privacy["spending"].values())},
        "text": f"{text}. It rests on: {text}.",
    }
    return replace(model, privacy=privacy, versions=dict.fromkeys(model.versions, text))


def of_numbers(text):
    model = fitted(noise="seeded", random_state=0).published()
    names = tuple(f"{text}{i}" for i in range(model.n_columns))
    labels = TwoLabels((f"{text}no", f"{text}yes"))
    return spoken(replace(model, target=labels, feature_names=names), text)


def of_tables(text):
    schema = Schema(
        [
            Numeric(f"{text}age", 18, 90, unit=text),
            Categorical(f"{text}region", [f"{text}North", f"{text}East"], missing="indicator", unit=text),
        ],
        Label(f"{text}outcome", [f"{text}no", f"{text}yes"], positive=f"{text}no"),
    )
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 400)
    table = {
        f"{text}age": age,
        f"{text}region": rng.choice([f"{text}North", f"{text}East"], 400).tolist(),
        f"{text}outcome": [f"{text}yes" if years > 60 else f"{text}no" for years in age],
    }
    model = DPLogisticRegression(2.0, 1e-6, schema=schema, noise="seeded", random_state=0)
    return spoken(model.fit(table).published(), text)


@pytest.mark.parametrize("of", [of_numbers, of_tables])
def test_no_name_changes_the_markup(of):
    def page(text):
        scores = Scores().to_dict()
        scores["privacy"]["text"] = text
        return render(of(text), scores=scores, title=text, card={text: text, "Intended use": text})

    assert markup(page(EVIL)) == markup(page("harmless"))
    assert not {c for c in page(EVIL) if not c.isprintable()} - {"\n"}
