"""PostgreSQL against a real server: every type, odd names, and no word of a password."""

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from party import Party, policy_text, run
from veilboost.data import coded, fits, open_source
from veilboost.data.source import Source
from veilboost.domain import Domain
from veilboost.errors import FileError

pytestmark = pytest.mark.slow

pgserver = pytest.importorskip(
    "pgserver", reason="no PostgreSQL server to test with: pgserver has no wheel from Python 3.13 on"
)
PASSWORD = "Tr0ub4dor_und_drei"

TABLE = """
CREATE TABLE people (id bigint, small smallint, age integer, ratio double precision, short real, money numeric(12,2),
  free numeric, day date, at timestamp, zoned timestamptz,
  colour text, code varchar(9), padded char(3), flag boolean);
INSERT INTO people VALUES
  (1, -7, 30, 0.5, 0.25, 12.50, 1e-3, '2024-02-29', '2024-02-29 12:00:00.000001', '2024-02-29 12:00+02',
   'red', 'a', 'abc', true),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, 7, 99, 'NaN', 1, -3.10, 7, '1999-12-31', '2023-01-01 00:00', '2024-01-01 00:00Z',
   E'blue\\n"ü', 'b', 'xyz', false);
"""


class Server:
    """A server on a Unix socket, and a role that needs a password."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server = pgserver.get_server(folder, cleanup_mode="stop")
        self.folder = folder
        self.sql(f"CREATE ROLE asker LOGIN PASSWORD '{PASSWORD}'; {TABLE} GRANT SELECT ON people TO asker;")
        rules = folder / "pg_hba.conf"
        rules.write_text("local all asker scram-sha-256\n" + rules.read_text())
        self.sql("SELECT pg_reload_conf();")

    def sql(self, text: str) -> str:
        return str(self._server.psql(text))

    def address(self, table: str, *, user: str = "postgres", more: str = "") -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}{more}#{table}"

    def close(self) -> None:
        self._server.cleanup()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a socket's path must be short
        try:
            started = Server(Path(folder))
        except (OSError, subprocess.SubprocessError, RuntimeError, AssertionError) as error:
            pytest.skip(f"no PostgreSQL server can be started here: {error}")
        yield started
        started.close()


def read(source: Source, *columns: str) -> pa.Table:
    return pa.Table.from_batches([batch for batch, _ in source.batches(columns)])


DOMAINS: list[tuple[str, Domain, list[Any]]] = [
    ("small", Domain.integers(-9, 9, missing="code", column="small"), [-7, None, 7]),
    ("age", Domain.numbers(0, 99, size=7, missing="code", column="age"), [30, None, 99]),
    ("ratio", Domain.numbers(0, 1, size=7, missing="code", column="ratio"), [0.5, None, None]),
    ("short", Domain.numbers(0, 1, size=7, missing="code", column="short"), [0.25, None, 1]),
    ("money", Domain.decimals("-9", "20", size=9, places=2, missing="code"), ["12.50", None, "-3.10"]),
    ("free", Domain.decimals("0", "20", size=9, places=3, missing="code"), ["0.001", None, "7"]),
    ("day", Domain.dates("1999-12-01", "2024-12-31", missing="code"), ["2024-02-29", None, "1999-12-31"]),
    (
        "at",
        Domain.timestamps("2023-01-01", "2025-01-01", size=99, missing="code"),
        ["2024-02-29T12:00:00.000001", None, "2023-01-01"],
    ),
    (
        "zoned",
        Domain.timestamps("2023-01-01T00:00Z", "2025-01-01T00:00Z", size=999, missing="code"),
        ["2024-02-29T10:00Z", None, "2024-01-01T00:00Z"],
    ),
    ("colour", Domain.unordered(["red", 'blue\n"ü'], missing="code"), ["red", None, 'blue\n"ü']),
    ("code", Domain.ordered(["a", "b"], missing="code"), ["a", None, "b"]),
    ("padded", Domain.ordered(["abc", "xyz"], missing="code"), ["abc", None, "xyz"]),
    ("flag", Domain.booleans(missing="code"), [True, None, False]),
]


@pytest.mark.parametrize(("name", "domain", "values"), DOMAINS, ids=[each[0] for each in DOMAINS])
def test_every_type_comes_through(name: str, domain: Domain, values: list[Any], server: Server) -> None:
    source = open_source(server.address("people"))
    assert fits(domain, source.schema.field(name).type)
    column = read(source, "id", name).sort_by("id")[name].combine_chunks()
    found = coded(domain, column, first_row=1)
    assert found.codes.tolist() == domain.encode(values).codes.tolist()
    assert found.missing == values.count(None)


def test_a_database_releases_as_a_file_does(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"\ncarry = ["id", "money"]')
    money = 'kind = "decimals", lower = "0", upper = "9", size = 5, places = 3, missing = "code"'
    columns = {"free": {"domain": money, "name": "tight", "epsilon": 0.5, "cap": 1}}
    (tmp_path / "policy.toml").write_text(
        policy_text(rows='key = "id"\ntype = "integer"\ncarry = ["id", "money"]', columns=columns)
    )
    monkeypatch.chdir(tmp_path)
    assert run(["desensitise", server.address("people"), "out.parquet", "--policy", "policy.toml"], monkeypatch) == 0
    from_base = party.out().sort_by("id")
    table = tmp_path / "table.csv"
    table.write_text("id,free,money\n3,7,-3.10\n1,1e-3,12.50\n2,,\n")
    party.release(table)
    assert party.charges() == [{"free": 3}, {"free": 0}]
    assert party.out().sort_by([("id", "ascending")])["free"].to_pylist() == from_base["free"].to_pylist()
    assert [None if each is None else str(each) for each in from_base["money"].to_pylist()] == ["12.50", None, "-3.10"]


ODD = [
    "semi;colon",
    'quo"te',
    "apo'strophe",
    "Upper Case",
    "x; DROP TABLE people; --",
    "ünïcode 🦊",
    'a" UNION SELECT 1 --',
    "per%cent",
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_quoted(name: str, server: Server) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    server.sql(f"CREATE TABLE {quoted} (id int, {quoted} int); INSERT INTO {quoted} VALUES (1, 41);")
    source = open_source(server.address(name))
    assert read(source, name, "id").to_pylist() == [{name: 41, "id": 1}]
    assert "3" in server.sql("SELECT count(*) FROM people;")


def test_schemas_and_views_can_be_named(server: Server) -> None:
    server.sql('CREATE SCHEMA "my schema"; CREATE VIEW "my schema".v AS SELECT id FROM public.people;')
    assert sorted(read(open_source(server.address("my schema.v")), "id")["id"].to_pylist()) == [1, 2, 3]


def test_many_rows_come_in_batches(server: Server) -> None:
    server.sql("CREATE TABLE many AS SELECT generate_series(1, 300000) AS id;")
    source = open_source(server.address("many"))
    sizes = [batch.num_rows for batch, _ in source.batches(["id"])]
    assert sum(sizes) == 300_000
    assert max(sizes) <= 1 << 18
    assert sum(batch["id"].to_numpy().sum() for batch, _ in source.batches(["id"])) == 300_000 * 300_001 // 2


def test_a_row_that_breaks_its_domain_is_named(server: Server, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"')
    server.sql(
        "CREATE TABLE late AS SELECT i AS id, i AS age,"
        " CASE WHEN i = 7 THEN 'pink' ELSE 'red' END AS colour FROM generate_series(1, 9) i;"
    )
    with pytest.raises(FileError, match=r"postgresql:///postgres#late: column 'colour' .* found 'pink' at row 7"):
        release(party, server.address("late"))
    assert party.left_over() == set()


def release(party: Party, address: str) -> None:
    from veilboost.release import desensitise, load_policy

    policy = load_policy(party.folder / "policy.toml")
    desensitise(open_source(address), party.folder / "out.csv", policy, policy.permit(None, None, "test", None))


def test_a_query_that_fails_midway_is_one_line(server: Server, tmp_path: Path) -> None:
    party = Party.settled(tmp_path, rows='key = "id"\ntype = "integer"')
    server.sql(
        "CREATE VIEW broken AS SELECT i AS id, 1 / (i - 200000) AS age, 'red' AS colour"
        " FROM generate_series(1, 300000) i;"
    )
    with pytest.raises(FileError, match=r"^postgresql:///postgres#broken: .*division by zero"):
        release(party, server.address("broken"))
    assert party.left_over() == set()


def test_the_right_password_opens(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (
        server.address("people", user=f"asker:{PASSWORD}"),
        server.address("people", user="asker", more=f"&password={PASSWORD}"),
    ):
        assert PASSWORD not in open_source(address).name
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert open_source(server.address("people", user="asker")).schema.names[0] == "id"


WRONG = "hunter2+secret"
ADDRESSES = [
    "postgresql://asker:{p}@/postgres?host={h}#people",
    "postgresql://asker:{p}@/postgres?host={h}#nothing",
    "postgresql://asker@/postgres?host={h}&password={p}#people",
    "postgresql://asker:{p}@/postgres?host=/nowhere#people",
    "postgresql://asker:{p}@host.invalid:1/postgres#people",
    "postgresql://asker:{p}@localhost:1/postgres#people",
    "postgresql://asker:{p}@/postgres?host={h}&nonsense=1#people",
    "postgresql://asker:{p}%zz@/postgres?host={h}#people",
    "postgresql://asker@/postgres?host={h}&password={p}%zz#people",
    "postgresql://asker:#{p}@/postgres?host={h}#people",
    "postgresql://asker:x#{p}@/postgres",
    "postgresql://asker:{p}@[::1/postgres?host={h}#people",
    "postgresql://asker:{p}@/postgres",
    "postgresql://asker:{p}@/postgres#a.b.c",
    "postgresql://asker:{p}#people",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_failed_login_is_one_line_without_the_password(
    address: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Party.settled(tmp_path)
    monkeypatch.chdir(tmp_path)
    table = address.format(p=WRONG, h=server.folder)
    assert run(["--log", "log", "-v", "desensitise", table, "out.csv", "--policy", "policy.toml"], monkeypatch) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("veilboost: postgresql://")
    assert printed.err.count("\n") == 1
    for text in (printed.err, (tmp_path / "log").read_text()):
        assert "hunter2" not in text
        assert "secret" not in text
    assert not (tmp_path / "out.csv").exists()


def test_an_address_without_a_password_is_shown_as_it_is(server: Server) -> None:
    with pytest.raises(FileError, match=r"^postgresql://localhost:1/base#people: .*port 1 "):
        open_source("postgresql://localhost:1/base#people")


def test_a_missing_driver_is_one_line(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['adbc_driver_postgresql'] = None\n"
        "sys.argv = ['veilboost', 'init', 'policy', 'postgresql://u:hunter2@h/b#t']\n"
        "from veilboost.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "veilboost: reading PostgreSQL needs the extra 'postgres': pip install 'veilboost[postgres]'\n"
    )
