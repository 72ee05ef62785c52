"""What an owner is promised when it answers a question, and what stands in the clear beside it."""

from dataclasses import dataclass

from veilboost.local.question import Question
from veilboost.privacy import LDP, Guarantee, Neighbours

HONEST = "the owner answers once, and computes and sends what the protocol says"
INDEPENDENT = "the bits are uniform and independent: AES-256 is a pseudorandom function"
DATA_USER = (
    "The data user's own rows are promised nothing: thresholds and every α come from them, perhaps bounds as well, and "
    "go to all owners; the model is made of what they judged."
)


@dataclass(frozen=True)
class Promise:
    """The guarantee of one answer, and what is not covered by it.

    >>> from veilboost.local import Columns, Job, LocalSample, Weighting
    >>> job = Job(name="votes", share=LocalSample(), columns=Columns((0.0,), (1.0,)), classes=2, owners=9, rounds=1)
    >>> print(promise(job.first(), 2.0))  # doctest: +NORMALIZE_WHITESPACE
    Pure local differential privacy: if all rows of one owner change, no output becomes more than exp(2) times as
    likely.
    Protects the values, labels and weights of all rows of an owner against the data user, and everyone after that.
    Assumes the owner answers once, and computes and sends what the protocol says; the bits are uniform and
    independent: AES-256 is a pseudorandom function.
    In the clear: that the owner answered, and in which round; its ε; how many rows it has.
    """

    guarantee: Guarantee
    in_the_clear: tuple[str, ...]
    whole: bool
    """Whether it covers all that the owner holds, but for what every answer shows; if not, it is no more than the
    paper's own claim about the rest."""

    def __str__(self) -> str:
        clear = f"In the clear: {'; '.join(self.in_the_clear)}."
        return f"{self.guarantee}\n{clear}" if self.whole else f"{self.guarantee}\n{clear}\nNOT COVERED: {_OPEN}"


_OPEN = "whoever sees what is in the clear knows it for certain, and what follows from it about the values as well."


def promise(question: Question, epsilon: float) -> Promise:
    """Return what ``question`` promises to an owner who spends ``epsilon``.

    A share of rows spends ε/n on each of the owner's n rows, one number of rows for all answers that are compared; any
    other share spends ε on one vector. It is local differential privacy throughout: nobody but the owner is trusted. Of
    an owner's single row, and so of one person in a clinic's table, it promises the same ε.
    """
    shown = ["that the owner answered, and in which round", "its ε"]
    if not question.share.of_rows:
        return _promise(epsilon, "the values, labels and weights of all rows of an owner", shown, whole=True)
    shown.append("how many rows it has")
    if question.weighting.how == "printed":
        shown.append(
            "the weight of each row: from the second round on, which of the earlier learners are wrong about it"
        )
    if question.labels == "clear":
        shown.append("the label of each row")
    open_weights = question.weighting.how == "printed" and question.weighting.varies(question.ensemble)
    hidden = {
        (False, False): "the values, labels and weights of all rows of an owner",
        (False, True): "the values of all rows of an owner, among values with the same weights",
        (True, False): "the values and weights of all rows of an owner, but not the labels",
        (True, True): "the values of all rows of an owner, among values with the same labels and weights",
    }[question.labels == "clear", open_weights]
    return _promise(epsilon, hidden, shown, whole=question.labels != "clear" and not open_weights)


def _promise(epsilon: float, protects: str, shown: list[str], *, whole: bool) -> Promise:
    guarantee = Guarantee(
        LDP(epsilon, neighbours=Neighbours.ONE_OWNER),
        protects=protects,
        against="the data user, and everyone after that",
        assumptions=(HONEST, INDEPENDENT),
    )
    return Promise(guarantee, tuple(shown), whole)
