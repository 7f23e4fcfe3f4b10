"""Each system that the sheet calls executed keeps, for every question of the sample, what this package keeps."""

import contextlib
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from systems import (
    COMPARE,
    SYSTEMS,
    Kept,
    World,
    by_sql,
    faiss_index,
    haystack,
    langchain_new_retriever,
    langchain_new_store,
    langchain_retriever,
    langchain_store,
    llamaindex_nodes,
    needed,
    table,
)

from calibration.contract import ScoreContract, convert
from calibration.contract.consumers import CONSUMERS
from calibration.contract.deploy import bound, deployments, operator_metric, pgvector_sql
from calibration.sources.postgres import PostgresSource
from calibration.sources.postgres.recognise import recognise

pytestmark = [pytest.mark.server, pytest.mark.filterwarnings("ignore")]
CASES = ("recommended", "on a passage", "strict, on a passage", "negative")


class Rule:
    """A floor and a cap on the sample, and what they keep by this package's own comparison."""

    def __init__(self, sample, case: str) -> None:
        found = sample.calibration
        rows = found.scores.observed
        rows = rows[rows["query_id"].isin(set(sample.query_ids))]
        self.contract: ScoreContract = replace(found.scores.contract, threshold_inclusive=not case.startswith("strict"))
        self.k = found.top_k.value
        self.clear = case == "recommended" and not found.in_sample.queries["boundary"].any()
        second = rows.loc[rows["rank"] == 2, "similarity"]
        self.floor = {"recommended": found.floor, "negative": -0.05}.get(case, float(second.median()))
        if case.endswith("on a passage"):
            self.floor = float(second.iloc[(second - second.median()).abs().argmin()])
        assert self.floor is not None
        kept = rows[(rows["rank"] <= self.k) & self.contract.accept(rows["similarity"], self.floor)]
        self.kept: Kept = {name: set() for name in sample.query_ids}
        for query, doc in zip(kept["query_id"], kept["doc_id"], strict=True):
            self.kept[query].add(doc)

    def row(self, system: str, setting: str) -> dict:
        rows = deployments(self.floor, self.contract, top_k=self.k, clear=self.clear)
        [row] = [row for row in rows if (row["system"], row["setting"]) == (system, setting)]
        return row


@pytest.fixture(params=CASES)
def rule(sample, request: pytest.FixtureRequest) -> Rule:
    return Rule(sample, request.param)


def test_the_rules_tell_a_wrong_comparison_apart(sample) -> None:
    """On a passage, inclusive and strict keep different sets, so neither test passes by luck."""
    inclusive, strict = Rule(sample, "on a passage"), Rule(sample, "strict, on a passage")
    assert inclusive.floor == strict.floor
    assert inclusive.kept != strict.kept
    sizes = [len(kept) for kept in Rule(sample, "recommended").kept.values()]
    assert min(sizes) == 0
    assert max(sizes) > 1


def test_all_that_is_called_executed_is_run_here() -> None:
    executed = {(one.system, one.setting) for one in CONSUMERS if one.evidence == "executed" and not one.refusal}
    assert executed == set(SYSTEMS)


@pytest.mark.parametrize("place", SYSTEMS, ids=lambda place: f"{place[0]} {place[1]}"[:60])
def test_it_keeps_what_the_library_keeps(world: World, rule: Rule, place: tuple[str, str]) -> None:
    row = rule.row(*place)
    assert SYSTEMS[place](world, row["value"], row["comparison"], rule.k) == rule.kept


def sheet_sql(rule: Rule, metric: str, column_type: str = "vector") -> str:
    contract = ScoreContract(metric, threshold_inclusive=rule.contract.threshold_inclusive)
    floor = contract.similarity_of(convert(rule.floor, rule.contract, replace(rule.contract, metric=metric)).value)
    query = pgvector_sql(
        contract, table="passages", key="id", vector="embedding", top_k=rule.k,
        limit=bound(floor, contract, operator_metric(contract), clear=rule.clear), column_type=column_type,
    )  # fmt: skip
    assert query is not None
    return query


@pytest.mark.parametrize("metric", ["cosine_similarity", "l2", "negative_inner_product"])
def test_the_pgvector_query_keeps_what_the_library_keeps(world: World, rule: Rule, metric: str) -> None:
    table(world)
    assert by_sql(world, sheet_sql(rule, metric)) == rule.kept


@pytest.mark.parametrize("metric", ["cosine_similarity", "l2", "negative_inner_product"])
def test_the_pgvector_query_serves_two_byte_vectors(world: World, sample, metric: str) -> None:
    """With a zero vector among them, which the length of halfvec finds as that of vector does."""
    rule = Rule(sample, "recommended")
    table(
        replace(world, doc_ids=[*world.doc_ids, "zero"], vectors=np.vstack([world.vectors, 0 * world.vectors[:1]])),
        "halfvec",
    )
    query = sheet_sql(rule, metric, "halfvec").replace("$1", "$1::halfvec")
    assert by_sql(world, query) == rule.kept


@pytest.mark.parametrize("metric", ["cosine_similarity", "l2", "negative_inner_product"])
def test_the_pgvector_query_as_pasted(world: World, sample, metric: str) -> None:
    """$1 as a parameter; rows without a vector and zero vectors are left out; other vectors than the table's fail."""
    rule = Rule(sample, "on a passage")
    table(replace(world, doc_ids=[*world.doc_ids, "zero"], vectors=np.vstack([world.vectors, 0 * world.vectors[:1]])))
    query = sheet_sql(rule, metric)
    with psycopg.connect(world.dsn, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        connection.execute("INSERT INTO passages (id) VALUES ('none')")

        def kept(vector: object) -> set[str]:
            return {row[0] for row in connection.execute(query, (str(vector),)).fetchall()}

        assert {name: kept(vector) for name, vector in world.asked} == rule.kept
        if metric == "cosine_similarity":
            assert kept([0.0] * world.width) == set(), "a question without a direction has no answer"
        with pytest.raises(psycopg.errors.DataException, match="different vector dimensions"):
            kept([1.0] * (world.width + 1))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("langchain", "LangChain"),
        ("langchain, new", "LangChain"),
        ("llamaindex", "LlamaIndex"),
        ("haystack", "Haystack"),
    ],
)
def test_the_tables_these_systems_make_are_recognised(world: World, path: str, kind: str) -> None:
    """By `calibrate init`, as the packages create them today."""
    with contextlib.ExitStack() as stack:
        if path == "langchain":
            stack.enter_context(langchain_store(world, "COSINE"))
        elif path == "langchain, new":
            stack.enter_context(langchain_new_store(world, "COSINE_DISTANCE"))
        elif path == "llamaindex":
            llamaindex_nodes(world, 1, keep=True)
        else:
            haystack("cosine_similarity")(world, 0.5, ">=", 1)
        mine = [one for one in recognise(world.dsn).tables if one.rows == len(world.doc_ids) and one.kind == kind]
        assert [[(column.name, column.dimensions) for column in one.vectors] for one in mine] == [
            [("embedding", world.width)]
        ]
        source = PostgresSource(world.dsn, mine[0].name, id_column=mine[0].id_column or "")
        judged = world.doc_ids[:3]
        assert set(source.vectors_of(judged)) == set(judged), "its ids are those that judgements name"


def test_langchain_inner_product_lets_a_negative_one_through(world: World, sample) -> None:
    """Why the sheet gives no number there: a passage that points away passes a floor of 0.9."""
    away = replace_vectors(world, -sample.queries[:1])
    kept = langchain_retriever("MAX_INNER_PRODUCT")(away, 0.9, ">=", 5)
    small = replace_vectors(world, -0.05 * sample.queries[:1])
    kept_small = langchain_retriever("MAX_INNER_PRODUCT")(small, 0.9, ">=", 5)
    assert kept[world.query_ids[0]] == set()
    assert kept_small[world.query_ids[0]] == {world.doc_ids[0]}
    [row] = [row for row in deployments(0.5, ScoreContract(), top_k=5, clear=True) if "MAX_INNER" in row["system"]]
    assert row["value"] is None
    assert "-0.1 becomes 0.9" in row["why_not"]


def test_langchains_newer_store_takes_the_inner_product_for_a_distance(world: World, sample) -> None:
    """Why the sheet gives no number there: the question's own vector scores 0, half of it 0.5."""
    same = replace_vectors(world, sample.queries[:1])
    half = replace_vectors(world, 0.5 * sample.queries[:1])
    retriever = langchain_new_retriever("INNER_PRODUCT")
    question = world.query_ids[0]
    assert retriever(same, 0.25, ">=", 5)[question] == set()
    assert retriever(half, 0.25, ">=", 5)[question] == {world.doc_ids[0]}
    rows = deployments(0.5, ScoreContract(), top_k=5, clear=True)
    [row] = [row for row in rows if row["system"] == "LangChain PGVectorStore, INNER_PRODUCT"]
    assert row["value"] is None
    assert "the best passage gets the lowest score" in row["why_not"]


def test_llamaindex_keeps_a_zero_vector_and_drops_none(world: World) -> None:
    """As the sheet says: NaN is not below any cut-off."""
    schema = needed("llama_index.core.schema")
    postprocessor = needed("llama_index.core.postprocessor")
    nodes = llamaindex_nodes(world, len(world.doc_ids) + 1, ("zero", [0.0] * world.width))[world.query_ids[0]]
    missing = schema.NodeWithScore(node=schema.TextNode(text="none"), score=None)
    cut = postprocessor.SimilarityPostprocessor(similarity_cutoff=0.99)
    kept = {found.node.text for found in cut.postprocess_nodes([*nodes, missing])}
    assert "zero" in kept
    assert "none" not in kept


def replace_vectors(world: World, vectors: np.ndarray) -> World:
    return replace(world, doc_ids=world.doc_ids[:1], vectors=np.asarray(vectors, dtype=np.float32))


def test_faiss_fills_up_with_what_no_floor_keeps(world: World) -> None:
    """As the sheet says: row -1, on the far side of any number."""
    for metric, comparison in (("ip", ">="), ("l2", "<=")):
        scores, rows = faiss_index(world, metric).search(world.queries[:1], len(world.doc_ids) + 3)
        filler = scores[0][rows[0] == -1]
        assert len(filler) == 3
        assert not COMPARE[comparison](filler, {"ip": -1.0, "l2": 4.0}[metric]).any()
