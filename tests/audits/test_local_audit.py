"""The leaks of the local protocol as printed are found, its options close them, and half the noise does not pass."""

import json
import sys
from typing import Any

import pytest

from veilboost.audits import audit_local, local
from veilboost.cli.main import main
from veilboost.errors import SettingError
from veilboost.local import Weighting, answer


@pytest.mark.parametrize("mechanism", ["piecewise", "duchi", "laplace"])
def test_as_printed_the_share_of_rows_shows_label_and_misclassification(mechanism: str) -> None:
    found = audit_local(
        mechanism=mechanism, labels="clear", weighting=Weighting(how="printed"), epsilon=2.0, samples=50_000
    )
    assert found.label.loss_at_least > 5
    assert found.misclassified.loss_at_least > 5
    assert found.refuted


@pytest.mark.parametrize(
    ("labels", "how", "label", "misclassified"),
    [
        ("randomised", "printed", False, True),
        ("clear", "bounded", True, False),
        ("clear", "none", True, False),
        ("randomised", "bounded", False, False),
        ("randomised", "none", False, False),
    ],
)
def test_each_option_closes_its_leak_and_no_other(labels: Any, how: Any, label: bool, misclassified: bool) -> None:
    found = audit_local(labels=labels, weighting=Weighting(how=how), samples=50_000)
    assert (found.label.refuted, found.misclassified.refuted) == (label, misclassified)


@pytest.mark.slow
@pytest.mark.parametrize("share", ["statistic", "classifier"])
@pytest.mark.parametrize("how", ["printed", "bounded"])
@pytest.mark.parametrize("mechanism", ["piecewise", "duchi", "duchi-sampled", "laplace", "laplace-split"])
def test_shares_of_whole_owners_are_not_refuted(share: str, how: Any, mechanism: str) -> None:
    assert not audit_local(share=share, mechanism=mechanism, weighting=Weighting(how=how), samples=100_000).refuted


@pytest.mark.parametrize("share", ["sample", "statistic", "classifier"])
def test_half_the_noise_is_refuted(share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def loud(question: Any, values: Any, truth: Any, *, epsilon: float, starts: Any) -> Any:
        return answer(question, values, truth, epsilon=3 * epsilon, starts=starts)

    monkeypatch.setattr(local, "answer", loud)
    assert audit_local(share=share, weighting=Weighting(how="none"), epsilon=1.0, samples=50_000).refuted


def test_the_command_ends_with_one_where_the_claim_is_refuted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for options, code in (["--labels", "clear", "--weights", "printed"], 1), ([], 0):
        monkeypatch.setattr(sys, "argv", ["veilboost", "audit", "local", "--samples", "20000", "--json", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
        found = json.loads(capsys.readouterr().out)
        assert found["refuted"] is found["label"]["refuted"] is bool(code)


def test_bad_settings_are_refused() -> None:
    wrong: list[dict[str, Any]] = [{"share": "rows"}, {"mechanism": "gauss"}, {"epsilon": 0}, {"labels": "open"}]
    for settings in wrong:
        with pytest.raises(SettingError):
            audit_local(**settings)
