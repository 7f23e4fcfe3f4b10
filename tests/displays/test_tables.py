"""What the answer, the tables and the lists say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from made_calibrations import made

from calibration.choose.ceiling import Ceiling
from calibration.choose.rates import proportion
from calibration.displays import (
    AnswerDisplay,
    CaveatsDisplay,
    ConversionsDisplay,
    FailuresDisplay,
    GapDisplay,
    NoiseDisplay,
    RatesDisplay,
    ReproduceDisplay,
)
from calibration.displays.failures import BROKEN, MOST
from calibration.displays.tables import Cell, cell, folded, table_html
from calibration.studies.model import Calibration


def test_the_answer_states_the_promise_with_its_denominators(drawn: Calibration) -> None:
    hit, unseen = drawn.in_sample.rates["hit_rate"], drawn.held_out.rates["hit_rate"]
    said = AnswerDisplay(drawn).caption
    assert f"{hit.numerator} of the 100 answerable questions (their answer is in the corpus) keep a relevant" in said
    assert f"kept {unseen.numerator} of 100 unseen ones [{unseen.low:.0%}".removesuffix("%") in said
    rates = drawn.in_sample.rates
    assert (
        f"Answered wrongly: {rates['false_answer_rate_off_topic'].numerator:g} of 25 off-topic questions; "
        f"{rates['false_answer_rate_probes'].numerator:g} of 60 probe questions (bundled, off any topic); "
        f"{rates['false_answer_rate_missing_answer'].numerator:g} of 25 on-topic questions whose answer is missing."
    ) in said
    causes = drawn.in_sample.queries.loc[lambda queries: queries["answerability"] == "answerable", "cause"]
    lost = {"ranked beyond top-K": (causes == "rank miss").sum(), "cut by the floor": (causes == "floor miss").sum()}
    named = ", ".join(f"{count} {words}" for words, count in lost.items() if count)
    named += "" if lost["cut by the floor"] else ", none cut by the floor"
    assert f"{100 - hit.numerator:g} answers of 100 lost: {named}." in said
    assert "use those at or above the floor" in said
    assert "Redo when the model, the chunking or the corpus changes." in said
    assert "certified" in said


def test_the_answer_gives_the_unrounded_floor_and_how_k_was_chosen(drawn: Calibration) -> None:
    facts = AnswerDisplay(drawn).frame().set_index("what")["value"]
    assert float(facts["floor"]) == drawn.floor
    assert facts["status"] == "Certified floor"
    assert facts["date"] == "2026-11-30"
    top_k = drawn.top_k
    assert f"smallest that loses at most 2 of the {top_k.hits[-1]} answers that 10 passages keep" in facts["top-K"]


def test_too_few_queries_to_hold_out_is_said_and_not_dressed_up(three_hits: Calibration) -> None:
    assert "there are too few to hold some out" in AnswerDisplay(three_hits).caption
    assert set(RatesDisplay(three_hits).frame()["measured"]) == {"on the queries that chose it"}


def test_no_floor_is_the_answer_with_reason_need_and_top_k(nothing_relevant: Calibration) -> None:
    box = BeautifulSoup(AnswerDisplay(nothing_relevant)._repr_html_(), "html.parser").get_text(" ", strip=True)
    assert "No floor for made" in box
    assert nothing_relevant.choice.reason in box
    assert nothing_relevant.choice.needed in box
    assert f"Top-K {nothing_relevant.top_k.value}" in box
    assert "0.0" not in box


def test_a_floor_of_zero_is_shown_as_zero(three_hits: Calibration) -> None:
    zero = replace(three_hits, choice=replace(three_hits.choice, floor=0.0))
    box = BeautifulSoup(AnswerDisplay(zero)._repr_html_(), "html.parser")
    assert box.select_one("dd").get_text() == "0.0"
    assert ConversionsDisplay(zero).frame().set_index("metric").loc["cosine_distance", "value"] == 1.0


def test_redo_names_the_corpus_size_the_ceiling_gives(three_hits: Calibration) -> None:
    # 0.1 below the floor and rising by 0.1 per tenfold corpus: reached at ten times the size
    floor = three_hits.floor
    ceiling = Ceiling(floor - 0.1, 1200, np.array([1200]), np.array([floor - 0.1]), 0.1, 0.08, 0.12)
    assert "passes about 12,000 passages" in AnswerDisplay(replace(three_hits, ceiling=ceiling)).caption
    assert "passages" not in AnswerDisplay(replace(three_hits, ceiling=None)).redo


def test_rates_stand_beside_each_other(drawn: Calibration) -> None:
    display = RatesDisplay(drawn)
    frame = display.frame().set_index(["rate", "measured"])
    measured = ["on the queries that chose it", "on unseen ones", "with the old floor"]
    assert frame.loc[("hit_rate", measured[0]), "numerator"] == drawn.in_sample.rates["hit_rate"].numerator
    assert frame.loc[("hit_rate", measured[2]), "numerator"] == drawn.old.rates["hit_rate"].numerator
    table = BeautifulSoup(display._repr_html_(), "html.parser").find("table")
    assert [head.get_text(strip=True) for head in table.select("thead th")] == measured
    first = [c.get_text(" ", strip=True) for c in table.select("tbody tr")[0].find_all(["th", "td"])]
    hit = proportion(int(drawn.in_sample.rates["hit_rate"].numerator), 100)
    assert first[0].startswith("Hit rate")
    assert f"{hit.numerator} of 100" in first[1]


def test_failures_name_the_first_cause_and_broken_must_flags_come_first() -> None:
    found = made(
        [
            ("rank", "answerable"),
            ("index", "answerable"),
            ("floor", "answerable"),
            ("fine", "answerable"),
            ("off", "off_topic"),
        ],
        [("rank", "d1", 1), ("index", "gone", 1), ("floor", "d2", 1), ("fine", "d3", 1)],
        [("rank", "x", 0.9), ("rank", "d1", 0.8), ("floor", "d2", 0.1), ("fine", "d3", 0.7), ("off", "d3", 0.6)],
        top_k=1,
    )
    queries = found.in_sample.queries
    # as if the floor were 0.5
    queries = queries.assign(
        must=["-", "-", "-", "hit", "refuse"],
        cause=["rank miss", "index miss", "floor miss", None, None],
        n_accepted=[1, 0, 0, 1, 1],
        hit=[False, False, False, True, False],
        accepted_unjudged=[False] * 5,
    )
    display = FailuresDisplay(replace(found, in_sample=replace(found.in_sample, queries=queries)))
    frame = display.frame()
    assert frame["query_id"].tolist() == ["off", "index", "rank", "floor"]
    assert frame["what"].tolist() == ["off-topic but answered", "index miss", "rank miss", "floor miss"]
    assert frame["must_broken"].tolist() == [True, False, False, False]
    assert frame["only_noise"].tolist() == [True, False, True, False]
    assert display.caption.startswith("1 must flag broken. 4 queries fail")
    counts = display.counts().set_index("kind")
    assert counts.loc["answerable", "all"] == 3
    assert "text" not in frame, "texts are left out by default"
    shown = FailuresDisplay(replace(display.calibration, texts={"off": "what is it?"})).frame()
    assert shown.loc[0, "text"] == "what is it?"


def test_a_broken_must_flag_without_another_failure_is_listed() -> None:
    found = made([("unknown", "unknown")], [], [("unknown", "d", 0.9)])
    queries = found.in_sample.queries.assign(must="refuse")
    frame = FailuresDisplay(replace(found, in_sample=replace(found.in_sample, queries=queries))).frame()
    assert frame[["query_id", "what"]].to_numpy().tolist() == [["unknown", BROKEN]]


def test_a_long_foreign_word_does_not_bury_the_caveats(three_hits: Calibration) -> None:
    (said,) = CaveatsDisplay(replace(three_hits, caveats=(f"before {'W' * 5000} after",))).frame()["caveat"]
    assert len(said) < 120
    assert said.startswith("before WWW")


def test_a_certified_floor_is_not_contradicted_by_the_rate_of_other_floors(drawn: Calibration) -> None:
    said = AnswerDisplay(drawn).parts["How sure"]
    assert "by floors that may differ from this one" in said
    assert "Certified: with 90% confidence at least 90%" in said
    other = replace(drawn.choice.certificate, certified=False)
    said = AnswerDisplay(replace(drawn, choice=replace(drawn.choice, certificate=other))).parts["How sure"]
    assert "expect that of new questions. Not certified: the labels do not prove" in said


def test_long_texts_keep_a_width_and_intervals_stay_whole() -> None:
    frame = pd.DataFrame({"id": ["a"], "why": ["x " * 30], "rate": [Cell("86.6%", True, "97 of 112 [79–92%]")]})
    row = BeautifulSoup(table_html(frame, "t"), "html.parser").select_one("tbody tr")
    assert [cell.get("class") for cell in row.find_all(["th", "td"])] == [None, ["cal-text"], ["cal-number"]]
    assert row.select_one(".cal-detail").get_text() == "97 of 112 [79–92%]"
    assert row.select_one(".cal-detail span").get_text() == "[79–92%]"


def test_what_is_folded_is_escaped_and_there() -> None:
    fold = BeautifulSoup(folded("<b>more</b>", table_html(pd.DataFrame({"x": [1]}), "t")), "html.parser")
    assert fold.summary.get_text() == "<b>more</b>"
    assert fold.select_one("details > .cal-scroll table") is not None


def test_at_most_200_failures_are_shown_and_said() -> None:
    off = [(f"o{i}", "off_topic") for i in range(MOST + 7)]
    display = FailuresDisplay(made(off, [], [(name, "d", 0.5) for name, _ in off]))
    assert len(display.frame()) == MOST + 7
    html = BeautifulSoup(display._repr_html_(), "html.parser")
    assert len(html.find_all("table")[1].select("tbody tr")) == MOST
    assert f"The first {MOST} of {MOST + 7}." in html.get_text()


def test_nothing_fails_is_said() -> None:
    found = made([("q", "answerable")], [("q", "d", 1)], [("q", "d", 0.9)])
    assert FailuresDisplay(found).caption.startswith("No query fails")


def test_gap_names_who_stands_in_it() -> None:
    found = made(
        [("weak", "answerable"), ("strong", "answerable"), ("loud", "off_topic"), ("quiet", "off_topic")],
        [("weak", "d1", 1), ("strong", "d2", 1)],
        [("weak", "d1", 0.68), ("strong", "d2", 0.8), ("loud", "d3", 0.721), ("quiet", "d3", 0.6)],
    )
    display = GapDisplay(found)
    assert display.blocking()[["query_id", "doc_id"]].to_numpy().tolist() == [["loud", "d3"], ["weak", "d1"]]
    assert display.caption.startswith(
        "The bands overlap: the highest far noise is 0.721, the lowest best relevant 0.68"
    )
    assert "In each other's way: loud, weak." in display.caption
    extreme = display.frame().iloc[1]
    assert extreme["value"] == pytest.approx(-0.041)
    assert (extreme["from"], extreme["to"]) == (0.721, 0.68)


def test_noise_lists_the_highest_first_with_subject_and_our_own_text() -> None:
    probes = [f"en-{i:03d}" for i in range(1, 31)]
    rows = [("q", "d", 0.9)] + [(probe, f"d{i}", 0.01 * i) for i, probe in enumerate(probes)]
    found = made(
        [("q", "answerable")], [("q", "d", 1)], rows, probes=probes,
        facts={"probes": {"subjects": {probe: "cooking" for probe in probes}}},
    )  # fmt: skip
    frame = NoiseDisplay(found).frame()
    assert len(frame) == 15
    assert frame["query_id"].tolist() == probes[:-16:-1]
    assert frame["subject"].unique().tolist() == ["cooking"]
    assert frame["text"].notna().all(), "bundled probes are ours and may be shown"
    own = replace(found, params=found.params.model_copy(update={"probes_file": "own.jsonl"}))
    assert "text" not in NoiseDisplay(own).frame(), "a user's probes may not"


def test_conversions_give_every_unit_in_full(drawn: Calibration) -> None:
    frame = ConversionsDisplay(drawn).frame().set_index("metric")
    assert frame.loc["cosine_similarity"].tolist() == [">=", drawn.floor]
    assert frame.loc["cosine_distance"].tolist() == ["<=", 1.0 - drawn.floor]
    codes = [
        code.get_text()
        for code in BeautifulSoup(ConversionsDisplay(drawn)._repr_html_(), "html.parser").select("td code")
    ]
    assert codes[0] == f">= {drawn.floor!r}"
    assert codes[1] == f"<= {1.0 - drawn.floor!r}"


def test_c06_scores_with_a_transform_have_their_own_number_first() -> None:
    rows = [("q1", "d1", 0.92), ("q2", "d2", 0.91), ("q3", "d3", 0.9), ("o1", "d1", 0.6)]
    queries = [("q1", "answerable"), ("q2", "answerable"), ("q3", "answerable"), ("o1", "off_topic")]
    qrels = [("q1", "d1", 1), ("q2", "d2", 1), ("q3", "d3", 1)]
    display = ConversionsDisplay(made(queries, qrels, rows, score_transform="(1+cos)/2"))
    floor = display.calibration.floor
    first = display.frame().iloc[0]
    assert (first["metric"], first["operator"]) == ("(1+cos)/2 of cosine_similarity", ">=")
    assert first["value"] == pytest.approx((1 + floor) / 2)
    cells = BeautifulSoup(display._repr_html_(), "html.parser").select("tbody tr")[0].get_text("|", strip=True)
    assert cells.startswith("(1+cos)/2 of cosine similarity|>= ")
    assert cells.endswith("|the scores that were calibrated")
    assert display.sql() is None


def test_sql_quotes_foreign_names(three_hits: Calibration) -> None:
    params = three_hits.params.model_copy(update={"table": 'public.My "Docs"; drop table x', "id_column": "Id"})
    sql = ConversionsDisplay(replace(three_hits, params=params)).sql()
    assert '"public"."My ""Docs""; drop table x"' in sql
    assert '"Id"' in sql


@pytest.mark.parametrize("metric", ["cosine_distance", "l2", "negative_inner_product"])
@pytest.mark.server
def test_sql_accepts_what_the_floor_accepts(server_dsn: str, metric: str) -> None:
    """On a real server, with a zero vector among the passages."""
    import psycopg

    score = {"cosine_distance": 0.4, "l2": 0.9, "negative_inner_product": -0.6}[metric]
    found = made([("q", "answerable")], [("q", "d", 1)], [("q", "d", score)], metric=metric, top_k=4)
    choice = made([("q", "answerable"), ("o", "off_topic")], [("q", "d", 1)], [("q", "d", 0.8), ("o", "d", 0.4)]).choice
    found = replace(found, choice=replace(choice, floor=0.55))
    sql = ConversionsDisplay(found).sql().replace("$1", "'[1,0]'::vector")
    with psycopg.connect(server_dsn) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TEMP TABLE passages (id text, embedding vector(2))")
        rows = [
            ("yes", "[1,0]"),
            ("near", "[0.6,0.8]"),
            ("no", "[0.5,0.8660254]"),
            ("zero", "[0,0]"),
            ("far", "[-1,0]"),
        ]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO passages VALUES (%s, %s)", rows)
        assert [row[0] for row in connection.execute(sql).fetchall()] == ["yes", "near"]
        connection.rollback()


def test_caveats_are_sentences(three_hits: Calibration) -> None:
    display = CaveatsDisplay(replace(three_hits, caveats=("One thing", "Another.")))
    assert display.frame()["caveat"].tolist() == ["One thing.", "Another."]
    assert display.caption == "2 caveats. One thing."
    assert CaveatsDisplay(replace(three_hits, caveats=())).caption == "No caveats."


def test_c88_no_password_in_what_reproduces_a_run(drawn: Calibration) -> None:
    facts = {
        "source": {"dsn": "postgresql://u:S3cretPw@h/db", "options": "host=h password='S3cretPw x' user=u"},
        "api_key": "S3cretPw",
        "command": "calibrate run --dsn postgresql://u:S3cretPw@h/db",
    }
    display = ReproduceDisplay(replace(drawn, facts=facts))
    assert "S3cretPw" not in display._repr_html_() + repr(display) + display.frame().to_string()
    assert "postgresql://u:***@h/db" in display._repr_html_()


def test_no_folder_of_this_machine_and_no_long_list_in_what_is_shared(three_hits: Calibration) -> None:
    facts = {"source": {"address": "host=/home/ann/.cache/x/s port=5432"}, "reference": [0.5] * 100}
    frame = ReproduceDisplay(replace(three_hits, facts=facts)).frame().set_index("what")["value"]
    assert frame["source.address"] == "host=(local socket) port=5432"
    assert frame["reference"] == "100 values"


def test_the_command_repeats_what_differs_from_the_defaults(drawn: Calibration) -> None:
    command = ReproduceDisplay(drawn).command()
    assert command == "calibrate run --scores scores.csv --k-max 10 --old-floor 0.78"


def test_a_fact_with_many_entries_is_counted_not_listed(three_hits: Calibration) -> None:
    facts = {"probes": {"subjects": {f"p{i}": "x" for i in range(400)}, "queries": 400}}
    frame = ReproduceDisplay(replace(three_hits, facts=facts)).frame().set_index("what")["value"]
    assert frame["probes.subjects"] == "400 entries"
    assert frame["probes.queries"] == "400"


def test_tables_escape_and_align() -> None:
    frame = pd.DataFrame({"<b>name</b>": ["<script>x</script>", "{{ 1 }}"], "value": [0.0, None]})
    html = BeautifulSoup(table_html(frame, "a <caption>"), "html.parser")
    assert html.find(["script", "b"]) is None
    assert [c.get_text() for c in html.select("tbody th")] == ["<script>x</script>", "{{ 1 }}"]
    numbers = html.select("td")
    assert [c.get_text() for c in numbers] == ["0", "–"]
    assert all(c["class"] == ["cal-number"] for c in numbers)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (float("nan"), "–"), (pd.NA, "–"), (float("-inf"), "not scored"), (12345, "12,345")]
)
def test_missing_is_a_dash_and_zero_a_value(value: object, text: str) -> None:
    assert cell(value).text == text
