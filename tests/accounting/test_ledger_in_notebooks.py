"""A notebook shows an account: the promise, what is left, and the last entries, as text and not as markup."""

from privfit.accounting import Ledger


def test_a_ledger_shows_promise_spending_and_entries():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    ledger.charge(ledger.rho / 4, what="mean <age>", mechanism="gaussian & more", kind="gaussian")
    shown = ledger._repr_html_()
    assert ledger.statement() in shown
    assert "epsilon = 1 at delta = 1e-06" in shown
    assert f"rho left: {ledger.remaining:.4g} of {ledger.rho:.4g}" in shown
    assert "<td>mean &lt;age&gt;</td><td>gaussian &amp; more</td>" in shown
    assert "<age>" not in shown


def test_only_the_last_ten_entries_are_shown():
    ledger = Ledger(rho=1.0)
    for i in range(25):
        ledger.charge(0.01, what=f"question {i}.")
    shown = ledger._repr_html_()
    assert [f"question {i}." in shown for i in range(25)] == [False] * 15 + [True] * 10
    assert "15 more came before" in shown


def test_a_lasting_account_names_nobody_and_says_if_it_cannot_be_reached(tmp_path, monkeypatch):
    monkeypatch.setattr("privfit.accounting.stores.signing.user_name", lambda: "alice")
    ledger = Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="<census>", rho=1.0)
    ledger.charge(0.25, what="a count")
    assert ledger.entries[0].who == "alice"
    assert "a count" in ledger._repr_html_()
    assert "alice" not in ledger._repr_html_()
    (tmp_path / "people.db").write_bytes(b"no database at all" * 500)
    shown = ledger._repr_html_()
    assert "&lt;census&gt;" in shown
    assert "a count" not in shown
