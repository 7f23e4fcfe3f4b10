"""Systems a floor is deployed to: the score each one hands out, how it compares, and what it does without a score.

Two kinds of evidence: `executed` rows are run by this package's tests against the system itself; the others repeat the
system's public documentation (or, where that is silent, its source), under the link of the row.
"""

from dataclasses import dataclass
from typing import Literal

Evidence = Literal["executed", "documented"]

NO_SCORE = "dropped: a zero vector's distance is NaN"
ZERO_COUNTS = "a zero vector has a score all the same: keep it out"


@dataclass(frozen=True)
class Consumer:
    """One place to write a floor into.

    Attributes
    ----------
    setting : str
        What the number is called there.
    score : str
        The system's own score, from the cosine (cos), the dot product (dot) or the distance d of its metric.
    metric, transform : str
        The same for the score contract.
    inclusive : bool or None
        Whether a score equal to the number is kept; None where the reader writes the comparison.
    missing : str
        What happens to a passage without a score.
    snippet : str
        A line to copy, with {value}, {comparison} and {k}.
    refusal : str
        Why no number works there, whatever the floor; empty where one does.
    """

    system: str
    setting: str
    score: str
    metric: str
    transform: str
    inclusive: bool | None
    missing: str
    evidence: Evidence
    link: str
    snippet: str
    refusal: str = ""


_LANGCHAIN = "https://docs.langchain.com/oss/python/integrations/vectorstores/pgvector"
_LANGCHAIN_NEW = "https://github.com/langchain-ai/langchain-postgres"
_LLAMAINDEX = "https://developers.llamaindex.ai/python/framework/module_guides/querying/node_postprocessors/"
_HAYSTACK = "https://docs.haystack.deepset.ai/docs/pgvectorembeddingretriever"
_FAISS = "https://github.com/facebookresearch/faiss/wiki/MetricType-and-distances"
_FAISS_RANGE = "https://github.com/facebookresearch/faiss/wiki/Special-operations-on-indexes"
_SUPABASE = "https://supabase.com/docs/guides/ai/semantic-search"
_CHROMA = "https://docs.trychroma.com/docs/collections/configure"
_QDRANT = "https://github.com/qdrant/qdrant/blob/master/lib/segment/src/types.rs"
"""Its documentation says that worse scores are excluded; that an equal one is as well, only the source says."""
_WEAVIATE = "https://docs.weaviate.io/weaviate/config-refs/distances"
_ELASTIC = "https://www.elastic.co/docs/reference/elasticsearch/mapping-reference/dense-vector"
_ELASTIC_KNN = "https://www.elastic.co/docs/solutions/search/vector/knn"
_OPENSEARCH = "https://docs.opensearch.org/latest/mappings/supported-field-types/knn-spaces/"

_RETRIEVER = (
    'store.as_retriever(search_type="similarity_score_threshold", '
    'search_kwargs={{"k": {k}, "score_threshold": {value}}})'
)
_FOLDED = (
    "its relevance is the dot product above 0 and 1 + the dot product below: -0.1 becomes 0.9 and passes. Compare the "
    "raw score of similarity_search_with_score, pgvector's negative inner product, instead"
)
_INVERTED = (
    "it takes the dot product for a distance, 1 - dot above 0: the best passage gets the lowest score. Use its "
    "default, COSINE_DISTANCE"
)

CONSUMERS: tuple[Consumer, ...] = (
    Consumer(
        "LangChain PGVector, cosine (the default)", "score_threshold of the retriever", "1 - d",
        "cosine_distance", "1-d", True, NO_SCORE, "executed", _LANGCHAIN, _RETRIEVER,
    ),
    Consumer(
        "LangChain PGVector, cosine (the default)", "score of similarity_search_with_score", "d = 1 - cos",
        "cosine_distance", "none", None, NO_SCORE, "executed", _LANGCHAIN,
        "[doc for doc, distance in store.similarity_search_with_score(question, k={k}) if distance {comparison} "
        "{value}]",
    ),
    Consumer(
        "LangChain PGVector, EUCLIDEAN", "score_threshold of the retriever", "1 - d/sqrt(2)",
        "l2", "1-d/sqrt(2)", True, ZERO_COUNTS, "executed", _LANGCHAIN, _RETRIEVER,
    ),
    Consumer(
        "LangChain PGVector, MAX_INNER_PRODUCT", "score_threshold of the retriever", "dot, or 1 + dot below 0",
        "negative_inner_product", "none", True, ZERO_COUNTS, "executed", _LANGCHAIN, "", _FOLDED,
    ),
    Consumer(
        "LangChain PGVectorStore, cosine (the default)", "score_threshold of the retriever", "1 - d",
        "cosine_distance", "1-d", True, NO_SCORE, "executed", _LANGCHAIN_NEW, _RETRIEVER,
    ),
    Consumer(
        "LangChain PGVectorStore, INNER_PRODUCT", "score_threshold of the retriever", "1 - dot, or -dot below 0",
        "inner_product", "none", True, ZERO_COUNTS, "executed", _LANGCHAIN_NEW, "", _INVERTED,
    ),
    Consumer(
        "LlamaIndex PGVectorStore", "similarity_cutoff of SimilarityPostprocessor", "1 - d",
        "cosine_distance", "1-d", True,
        "None is dropped; NaN, a zero vector's, is kept: keep it out",
        "executed", _LLAMAINDEX,
        "SimilarityPostprocessor(similarity_cutoff={value}).postprocess_nodes(index.as_retriever(similarity_top_k={k})"
        ".retrieve(question))",
    ),
    Consumer(
        "Haystack pgvector, cosine_similarity (the default)", "score of the documents; no cut of its own",
        "1 - d", "cosine_similarity", "none", None, NO_SCORE, "executed", _HAYSTACK,
        "[document for document in PgvectorEmbeddingRetriever(document_store=store, top_k={k}).run(query_embedding="
        'vector)["documents"] if document.score {comparison} {value}]',
    ),
    Consumer(
        "Haystack pgvector, l2_distance", "score of the documents; no cut of its own",
        "d, although it is called a score", "l2", "none", None, ZERO_COUNTS, "executed", _HAYSTACK,
        "[document for document in PgvectorEmbeddingRetriever(document_store=store, top_k={k}).run(query_embedding="
        'vector)["documents"] if document.score {comparison} {value}]',
    ),
    Consumer(
        "Faiss, METRIC_INNER_PRODUCT", "scores of search", "dot", "inner_product", "none", None,
        "row -1 fills up and is never kept; a zero vector scores 0",
        "executed", _FAISS,
        "scores, rows = index.search(vectors, {k}); accepted = rows[0][scores[0] {comparison} {value}]",
    ),
    Consumer(
        "Faiss, METRIC_L2", "distances of search", "d^2, squared", "squared_l2", "none", None,
        "row -1 fills up and is never kept; a zero vector has 1",
        "executed", _FAISS,
        "distances, rows = index.search(vectors, {k}); accepted = rows[0][distances[0] {comparison} {value}]",
    ),
    Consumer(
        "Faiss, METRIC_INNER_PRODUCT", "radius of range_search; no top-K", "dot", "inner_product", "none", False,
        "a zero vector scores 0", "executed", _FAISS_RANGE,
        "limits, scores, rows = index.range_search(vectors, {value})",
    ),
    Consumer(
        "Faiss, METRIC_L2", "radius of range_search; no top-K", "d^2, squared", "squared_l2", "none", False,
        "a zero vector has 1", "executed", _FAISS_RANGE,
        "limits, distances, rows = index.range_search(vectors, {value})",
    ),
    Consumer(
        "Supabase match_documents, <=>", "match_threshold", "1 - d, compared as d < 1 - match_threshold",
        "cosine_distance", "1-d", False, NO_SCORE, "executed", _SUPABASE,
        "supabase.rpc('match_documents', {{query_embedding, match_threshold: {value}, match_count: {k}}})",
    ),
    Consumer(
        "Chroma, cosine", "distances of query; no cut of its own", "d = 1 - cos", "cosine_distance", "none", None,
        "not said", "documented", _CHROMA, "[id for id, d in zip(ids, distances) if d {comparison} {value}]",
    ),
    Consumer(
        "Chroma, l2 (the default)", "distances of query; no cut of its own", "d^2, squared", "squared_l2", "none", None,
        "not said", "documented", _CHROMA, "[id for id, d in zip(ids, distances) if d {comparison} {value}]",
    ),
    Consumer(
        "Chroma, ip", "distances of query; no cut of its own", "1 - dot", "inner_product", "1-dot", None,
        "not said", "documented", _CHROMA, "[id for id, d in zip(ids, distances) if d {comparison} {value}]",
    ),
    Consumer(
        "Qdrant, Cosine", "score_threshold", "cos", "cosine_similarity", "none", False,
        "vectors are normalised when stored", "documented", _QDRANT,
        "client.query_points(collection, query=vector, limit={k}, score_threshold={value})",
    ),
    Consumer(
        "Qdrant, Euclid", "score_threshold", "d", "l2", "none", False, "not said", "documented", _QDRANT,
        "client.query_points(collection, query=vector, limit={k}, score_threshold={value})",
    ),
    Consumer(
        "Weaviate, cosine", "distance", "d = 1 - cos", "cosine_distance", "none", True,
        "vectors are normalised when read", "documented", _WEAVIATE,
        "collection.query.near_vector(vector, limit={k}, distance={value})",
    ),
    Consumer(
        "Weaviate, cosine", "certainty", "1 - d/2", "cosine_distance", "1-d/2", True,
        "vectors are normalised when read", "documented", _WEAVIATE,
        "collection.query.near_vector(vector, limit={k}, certainty={value})",
    ),
    Consumer(
        "Elasticsearch, cosine", "similarity of knn", "cos, not the _score", "cosine_similarity", "none", True,
        "zero vectors are refused", "documented", _ELASTIC_KNN,
        '"knn": {{"field": "embedding", "query_vector": […], "k": {k}, "similarity": {value}}}',
    ),
    Consumer(
        "Elasticsearch, cosine", "min_score", "(1 + cos) / 2", "cosine_similarity", "(1+cos)/2", True,
        "zero vectors are refused", "documented", _ELASTIC, '"min_score": {value}',
    ),
    Consumer(
        "Elasticsearch, l2_norm", "min_score", "1 / (1 + d^2)", "l2", "1/(1+d^2)", True,
        "not said", "documented", _ELASTIC, '"min_score": {value}',
    ),
    Consumer(
        "OpenSearch, cosinesimil", "min_score", "(2 - d) / 2", "cosine_distance", "(2-d)/2", True,
        "zero vectors are refused", "documented", _OPENSEARCH, '"min_score": {value}',
    ),
    Consumer(
        "OpenSearch, l2", "min_score", "1 / (1 + d), where d is squared", "squared_l2", "1/(1+d)", True,
        "not said", "documented", _OPENSEARCH, '"min_score": {value}',
    ),
)  # fmt: skip
"""In the order in which they are shown; a quantised index of any of them rounds its scores: calibrate on those."""
