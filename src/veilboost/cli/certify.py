"""`veilboost certify`: what a mechanism's nominal epsilon really buys."""

from veilboost.cli.mechanism_options import Alpha, Epsilon, Gaps, Json, Size, TableName, Theta, settings


def certify(
    mechanism: TableName,
    epsilon: Epsilon = None,
    size: Size = None,
    theta: Theta = None,
    alpha: Alpha = None,
    gaps: Gaps = None,
    json: Json = False,
) -> None:
    """Show what a mechanism's nominal epsilon really buys: exact loss, order kept, noise."""
    from veilboost.mechanisms import certify, table_from_settings
    from veilboost.report import certificate, terminal

    chosen = table_from_settings(settings(mechanism, epsilon, size, theta, alpha, gaps))
    found = certify(chosen)
    if json:
        terminal.json(found)
    else:
        certificate.show(found, chosen)
