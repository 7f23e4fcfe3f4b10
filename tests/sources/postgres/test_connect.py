import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from calibration.errors import StoreError
from calibration.sources.postgres import connect, redact_dsn, split_password

SECRET = "S3cretPw"  # noqa: S105


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        (f"postgresql://u:{SECRET}@h/db", "postgresql://u:***@h/db"),
        (f"postgres://u:{SECRET}@h1:1,h2:2/db?sslmode=require", "postgres://u:***@h1:1,h2:2/db?sslmode=require"),
        (f"postgresql://u:a@b/{SECRET}@h/db", "postgresql://u:***@h/db"),
        (f"postgresql://u@h/db?password={SECRET}&sslmode=require", "postgresql://u@h/db?password=***&sslmode=require"),
        (f"host=h password={SECRET} user=u", "host=h password=*** user=u"),
        (f"host=h password = 'a \\' {SECRET}' user=u", "host=h password = *** user=u"),
        (f"host=h PASSWORD='{SECRET}", "host=h PASSWORD=***"),
        (f"sslpassword={SECRET} host=h", "sslpassword=*** host=h"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("", ""),
    ],
)
def test_c88_redacted(dsn, shown):
    assert redact_dsn(dsn) == shown


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=8))
def test_c88_no_quoted_password_survives_redaction(password):
    shown = redact_dsn(make_conninfo(host="h", user="u", password=password))
    assert shown == "host=h user=u password=***"


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_a_split_password_can_be_put_back(password):
    dsn = make_conninfo(host="h", user="u", password=password)
    rest, found = split_password(dsn)
    assert found == password
    assert conninfo_to_dict(make_conninfo(rest, password=found)) == conninfo_to_dict(dsn)
    assert split_password(rest) == (rest, None)


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"postgresql//u:{SECRET}@h/db",
        f"postgresql://u:x/{SECRET}@h:port/db",
        f"host=127.0.0.1 port=1 passwrd={SECRET}",
        f"host=127.0.0.1 port={SECRET}",
    ],
)
def test_c88_no_error_shows_a_password(dsn):
    with pytest.raises(StoreError) as caught:
        connect(dsn)
    assert SECRET not in str(caught.value) or dsn.endswith(f"port={SECRET}")  # a port is no secret
    assert caught.value.__suppress_context__


def test_an_unknown_service_is_named():
    with pytest.raises(StoreError, match="cannot connect to service nowhere"):
        connect(None, "nowhere")


@pytest.mark.server
def test_a_user_connection_cannot_write(dsn, run):
    run("CREATE TABLE d (id int)")
    with connect(dsn) as connection:
        for statement in (
            "INSERT INTO d VALUES (1)",
            "DROP TABLE d",
            "CREATE TABLE x (id int)",
            "ALTER TABLE d ADD e int",
        ):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(statement)
    assert run("SELECT count(*) FROM d") == [(0,)]


@pytest.mark.server
def test_a_connection_says_who_it_is_and_does_not_wait_forever(dsn):
    with connect(dsn, statement_timeout=0.05) as connection:
        assert connection.execute("SHOW application_name").fetchone() == ("retrieval-calibration",)
        assert connection.execute("SHOW statement_timeout").fetchone() == ("50ms",)
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(2)")


@pytest.mark.server
def test_a_service_file_is_honoured(dsn, tmp_path, monkeypatch):
    parts = conninfo_to_dict(dsn)
    lines = [f"{name}={parts[name]}" for name in ("host", "port", "user", "dbname")]
    (tmp_path / "services").write_text("\n".join(["[here]", *lines]) + "\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with connect(None, "here") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
