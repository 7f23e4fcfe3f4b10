"""Judgements carried to new passages: small corpora to check by hand, scripts without spaces."""

import itertools
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.errors import LabelError
from calibration.labels import Carried, Labels, carry_labels
from calibration.labels.shingles import normalised_tokens

REFUND = "Refunds are paid within fourteen days of the request, and only to the card that was used for the purchase."
GIFT = "Gift cards cannot be refunded, but a card that was never opened may be exchanged in every one of our shops."
HOURS = "The shop in Gdynia opens at nine on weekdays, at ten on Saturdays, and it stays closed on public holidays."
PARCEL = "A parcel that nobody collects goes back to the sender after ten days; the fee for the return is not waived."


def corpus(passages: dict[str, str], documents: dict[str, str] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame({"doc_id": list(passages), "text": list(passages.values())}, dtype="str")
    return frame if documents is None else frame.assign(document_id=[documents.get(name) for name in passages])


def labelled(
    old: pd.DataFrame, judgements: Sequence[tuple[str, str, int]], *, must: str = "hit", rel_level: int = 1
) -> Labels:
    qrels = pd.DataFrame(judgements, columns=["query_id", "doc_id", "relevance"])
    relevant = set(qrels.loc[qrels["relevance"] >= rel_level, "query_id"])
    names = list(dict.fromkeys(qrels["query_id"]))
    queries = pd.DataFrame(
        {
            "query_id": names,
            "answerability": ["answerable" if name in relevant else "missing_answer" for name in names],
            "must": [must if name in relevant else "-" for name in names],
        }
    )
    return Labels(queries, qrels, old, rel_level, "unknown")


def one(old: dict[str, str], new: dict[str, str], grade: int = 1) -> tuple[str, tuple[str, ...]]:
    """Carry one judgement of the passage `p`: its fate, and where it went."""
    found = carry_labels(labelled(corpus(old), [("q", "p", grade)]), corpus(new))
    return tuple(found.fates.loc[0, ["fate", "carried_to"]])  # type: ignore[return-value]


def carried_pairs(found: Carried) -> dict[tuple[str, str], int]:
    rows = found.labels.qrels.itertuples(index=False, name=None)
    return {(query, doc): grade for query, doc, grade in rows}


@pytest.mark.parametrize(
    ("new", "fate", "to"),
    [
        ({"p": REFUND, "x": GIFT}, "kept", ("p",)),
        ({"n7": REFUND, "x": GIFT}, "moved", ("n7",)),
        ({"p": GIFT, "n7": REFUND}, "moved", ("n7",)),  # ids that were dealt anew mean nothing
        ({"n7": REFUND.replace("fourteen", "thirty")}, "moved", ("n7",)),
        ({"n7": f"{HOURS} {REFUND} {GIFT}"}, "merged", ("n7",)),
        ({"a": REFUND[:57], "b": REFUND[57:]}, "split", ("a", "b")),
        ({"x": GIFT, "y": HOURS}, "orphaned", ()),
        ({"n7": "Refunds are not paid any more, to no card at all, whatever was said before."}, "orphaned", ()),
    ],
)  # fmt: skip
def test_each_fate_of_one_judgement(new: dict[str, str], fate: str, to: tuple[str, ...]) -> None:
    assert one({"p": REFUND, "x": GIFT, "y": HOURS}, new) == (fate, to)


def test_c51_orphans_are_listed_and_never_counted_as_misses() -> None:
    labels = labelled(corpus({"p": REFUND, "x": GIFT}), [("q1", "p", 1), ("q2", "x", 1), ("q2", "p", 1)])
    found = carry_labels(labels, corpus({"x": GIFT}))
    assert found.labels.qrels.to_dict("list") == {"query_id": ["q2"], "doc_id": ["x"], "relevance": [1]}
    assert found.labels.queries.set_index("query_id")["answerability"].to_dict() == {
        "q1": "unknown",
        "q2": "answerable",
    }
    assert found.labels.queries["must"].tolist() == ["-", "hit"]
    assert found.bereft == ("q1",)
    assert found.of_fate("orphaned")[["query_id", "doc_id"]].to_numpy().tolist() == [["q1", "p"], ["q2", "p"]]
    assert "q1/p (grade 1): nothing of its content found" in found.words()
    assert "1 query lost every relevant judgement in the new corpus, now unknown: q1" in found.labels.warnings


def test_c51_judgements_of_unknown_passages_are_never_dropped_in_silence() -> None:
    labels = labelled(corpus({"p": REFUND}), [("q", "p", 1), ("q", "gone", 1)])
    found = carry_labels(labels, corpus({"p": REFUND, "gone": GIFT}))
    assert found.counts() == {"kept": 1, "moved": 0, "merged": 0, "split": 0, "diluted": 0, "orphaned": 1}
    assert found.of_fate("orphaned")["reason"].tolist() == ["not in the corpus that was judged"]
    assert carried_pairs(found) == {("q", "p"): 1}


def test_c53_merged_judgements_keep_the_highest_grade_and_say_so() -> None:
    labels = labelled(corpus({"a": REFUND, "b": GIFT, "c": HOURS}), [("q", "a", 1), ("q", "b", 3), ("q", "c", 0)])
    found = carry_labels(labels, corpus({"n": f"{REFUND}\n\n{GIFT}\n\n{HOURS}"}))
    assert carried_pairs(found) == {("q", "n"): 3}
    assert found.fates["fate"].tolist() == ["merged"] * 3
    assert found.fates["overruled"].tolist() == [True, False, True]
    assert "2 met a higher grade" in found.words()


def test_c54_judgements_of_whole_documents_stay() -> None:
    old = corpus({"g#1": REFUND, "g#2": GIFT, "h#1": HOURS}, {"g#1": "g", "g#2": "g", "h#1": "h"})
    labels = labelled(old, [("q", "g", 1), ("q", "h", 0)])
    found = carry_labels(labels, corpus({"g/a": f"{REFUND} {GIFT}"}, {"g/a": "g"}))
    assert carried_pairs(found) == {("q", "g"): 1}
    assert found.fates["fate"].tolist() == ["kept", "orphaned"]
    assert found.of_fate("orphaned")["reason"].tolist() == ["a whole document, which the new corpus does not name"]


def test_c57_a_zero_is_not_spread_over_text_that_nobody_judged() -> None:
    """Of the new passage two thirds are unjudged for q1; for q2 they were judged as well."""
    old = corpus({"a": REFUND, "b": GIFT, "c": HOURS})
    labels = labelled(old, [("q1", "a", 0), ("q2", "a", 0), ("q2", "b", 0), ("q2", "c", 0), ("q3", "a", 1)])
    found = carry_labels(labels, corpus({"n": f"{REFUND} {GIFT} {HOURS}"}))
    assert carried_pairs(found) == {("q2", "n"): 0, ("q3", "n"): 1}
    assert found.of_fate("diluted")["query_id"].tolist() == ["q1"]
    assert found.carried == 4


def test_a_zero_holds_of_every_small_piece_and_a_relevant_grade_of_none() -> None:
    sentences = [f"{part}." for part in " ".join([REFUND, GIFT, HOURS, PARCEL]).split(". ")]
    pieces = [piece for sentence in sentences for piece in re.split(r"(?<=[,;]) ", sentence)]
    new = corpus({f"n{i}": piece for i, piece in enumerate(pieces)})
    labels = labelled(corpus({"p": " ".join(sentences)}), [("q0", "p", 0), ("q1", "p", 1)])
    found = carry_labels(labels, new)
    assert len(found.fates.loc[0, "carried_to"]) >= 8
    assert found.fates.loc[1, ["fate", "carried_to"]].tolist() == ["orphaned", ()]
    assert "mark the answer" in found.fates.loc[1, "reason"]
    assert found.to_review()["query_id"].tolist() == ["q1"]


def test_a_marked_answer_says_which_part_of_a_split_passage_takes_the_judgement() -> None:
    old, new = corpus({"p": f"{REFUND} {HOURS}"}), corpus({"a": REFUND, "b": HOURS})
    labels = labelled(old, [("q1", "p", 1), ("q2", "p", 1), ("q3", "p", 0)])
    unmarked = carry_labels(labels, new)
    assert unmarked.fates["carried_to"].tolist() == [("a", "b")] * 3
    assert unmarked.to_review()["query_id"].tolist() == ["q1", "q2"]
    marked = carry_labels(labels, new, answers={("q2", "p"): "at ten on SATURDAYS"})
    assert marked.fates["carried_to"].tolist() == [("a", "b"), ("b",), ("a", "b")]
    assert marked.to_review()["query_id"].tolist() == ["q1"]
    # gone from the new text although the rest of the passage is there
    edited = corpus({"a": REFUND, "b": HOURS.replace("at ten on Saturdays", "not on any weekend at all")})
    assert carry_labels(labels, edited, answers={("q2", "p"): "at ten on Saturdays"}).bereft == ("q2",)


def test_marked_answers_that_cannot_be_used_are_all_named() -> None:
    labels = labelled(corpus({"p": REFUND}), [("q", "p", 1)])
    with pytest.raises(LabelError) as caught:
        carry_labels(labels, corpus({"p": REFUND}), answers={("q", "p"): "thirty days", ("q", "x"): "a"})
    assert "q/p: 'thirty days' is not in the passage" in str(caught.value)
    assert "q/x: no such judgement" in str(caught.value)


def test_overlapping_windows_that_hold_a_substantial_share_take_it() -> None:
    words = f"{REFUND} {GIFT} {HOURS} {PARCEL}".split()
    windows = {f"w{start}": " ".join(words[start : start + 40]) for start in range(0, len(words) - 39, 10)}
    passage = " ".join(words[5:65])
    assert one({"p": passage}, windows) == ("split", ("w0", "w10", "w20", "w30", "w40"))


def test_a_longer_text_that_begins_alike_gives_way_to_the_passage_itself() -> None:
    """It holds half of the old wording, goes on quite otherwise, and nothing in it that the two halves do not hold."""
    words = f"{REFUND} {GIFT}".split()
    other = f"{HOURS} {PARCEL} {HOURS.upper()} {PARCEL.upper()}"
    new = {"a": " ".join(words[:25]), "b": " ".join(words[16:]), "else": f"{' '.join(words[:20])} {other}"}
    assert one({"p": " ".join(words)}, new) == ("split", ("a", "b"))


def test_a_header_in_every_passage_attracts_nothing() -> None:
    header = "Kestrel handbook, public edition, all rights reserved, questions to the editors in Gdynia."
    old = {"p": f"{header} {REFUND}", "x": f"{header} {GIFT}", "y": f"{header} {HOURS}"}
    new = {f"n{i}": f"{header}\n{text}" for i, text in enumerate((REFUND[:57], REFUND[57:], GIFT, HOURS, PARCEL))}
    assert one(old, new) == ("split", ("n0", "n1"))
    without_it = {key: value for key, value in new.items() if key not in ("n0", "n1")}
    assert one(old, without_it) == ("orphaned", ())


def test_a_header_of_its_own_in_front_of_each_new_passage_does_no_harm() -> None:
    new = {
        "a": f"Part one of three, about the money that customers get back. {REFUND[:57]}",
        "b": f"Part two of three, which names the ways of payment involved. {REFUND[57:]}",
        "c": GIFT,
    }
    assert one({"p": REFUND, "x": GIFT}, new) == ("split", ("a", "b"))


def test_copies_of_a_passage_keep_to_their_document() -> None:
    old = corpus({"a1": REFUND, "b1": REFUND}, {"a1": "a", "b1": "b"})
    labels = labelled(old, [("q", "a1", 2), ("q", "b1", 0)])
    within = carry_labels(labels, corpus({"a9": REFUND, "b9": REFUND}, {"a9": "a", "b9": "b"}))
    assert carried_pairs(within) == {("q", "a9"): 2, ("q", "b9"): 0}
    same_ids = carry_labels(labels, corpus({"a1": REFUND, "b1": REFUND}))
    assert carried_pairs(same_ids) == {("q", "a1"): 2, ("q", "b1"): 0}
    # nothing tells the copies apart: what is true of the text is true of both
    unknown = carry_labels(labels, corpus({"n1": REFUND, "n2": REFUND}))
    assert carried_pairs(unknown) == {("q", "n1"): 2, ("q", "n2"): 2}


def test_another_edition_of_a_text_does_not_take_its_judgements() -> None:
    edition = f"{REFUND} {GIFT} {HOURS}"
    other = edition.replace("fourteen", "thirty").replace("Gdynia", "Gdansk")
    halves = {
        name: text[i * 160 : (i + 1) * 160] for i in (0, 1) for name, text in ((f"p{i}", edition), (f"o{i}", other))
    }
    assert one({"p": edition, "o": other}, halves) == ("split", ("p0", "p1"))
    assert one({"p": edition, "o": other}, {"n": other}) == ("moved", ("n",))  # alone, it is the edited text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Refunds\n\n* paid **within** [14 days](https://a.example/x)", "Refunds — paid within 14 days"),
        ("ＲＥＦＵＮＤ　１４日以内", "refund 14日以内"),
        ("The of\u00adfice is in Łódź &amp; Gdynia", "the office is in łódź & <b>gdynia</b>"),
        ("שלום\u200f עולם", "שלום   עולם"),
    ],
)
def test_markup_case_and_spacing_are_no_content(old: str, new: str) -> None:
    assert normalised_tokens(old) == normalised_tokens(new)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (
            "返金は申請の日から十四日以内に行われ、購入に使われたカードにのみ振り込まれます。手数料はかかりません。",
            "店舗は平日の九時に開き、土曜日は十時からで、祝日は休みです。駐車場は裏口の隣にあります。",
        ),
        (
            "يتم رد المبالغ خلال أربعة عشر يوما من تاريخ الطلب، وفقط إلى البطاقة التي استخدمت عند الشراء من متجرنا",
            "يفتح المتجر في التاسعة في أيام الأسبوع وفي العاشرة يوم السبت ويغلق في جميع أيام العطل الرسمية",
        ),
        (
            "การคืนเงินจะดำเนินการภายในสิบสี่วันนับจากวันที่ขอ และคืนไปยังบัตรที่ใช้ซื้อเท่านั้น",
            "ร้านเปิดเวลาเก้าโมงในวันธรรมดา และปิดในวันหยุดนักขัตฤกษ์ทุกวันตลอดทั้งปี",
        ),
    ],
)
def test_scripts_without_spaces_and_from_right_to_left(text: str, other: str) -> None:
    half = len(text) // 2
    new = {"x": other, "a": text[:half], "b": text[half:]}
    assert one({"p": text, "x": other}, new) == ("split", ("a", "b"))
    assert one({"p": text, "x": other}, {"n": f"{other} {text} {other[::-1]}"}) == ("merged", ("n",))
    assert one({"p": text, "x": other}, {"x": other}) == ("orphaned", ())


def test_passages_of_a_few_words_go_by_their_whole_text_only() -> None:
    assert one({"p": "Code TS999!"}, {"n": "code ts999", "m": "the code ts999 is about something else"}) == (
        "moved",
        ("n",),
    )
    assert one({"p": "Code TS999"}, {"m": "the code ts999 is about something else"}) == ("orphaned", ())
    assert one({"p": "?!"}, {"m": "!"}) == ("orphaned", ())


def test_labels_without_a_corpus_and_repeated_new_ids_are_refused() -> None:
    labels = labelled(corpus({"p": REFUND}), [("q", "p", 1)])
    with pytest.raises(LabelError, match="without the corpus that was judged"):
        carry_labels(Labels(labels.queries, labels.qrels, None, 1, "unknown"), corpus({"p": REFUND}))
    with pytest.raises(LabelError, match="1 id more than once in the new corpus: p"):
        carry_labels(labels, pd.concat([corpus({"p": REFUND})] * 2))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_text_cut_anywhere_is_found_and_the_order_of_passages_says_nothing(sizes: list[int], seed: int) -> None:
    """Every judgement is accounted for once; a carried one is on passages that hold its words."""
    draw = np.random.default_rng(seed)
    words = [f"w{number}" for number in draw.integers(0, 5000, 240)]
    old = corpus({f"p{start}": " ".join(words[start : start + 60]) for start in range(0, 240, 60)})
    cuts, pieces = np.cumsum([0, *(sizes * 240)])[:241], {}
    for start, end in itertools.pairwise(cuts):
        if start < 240:
            pieces[f"n{start}"] = " ".join(words[start:end])
    new = corpus(pieces)
    labels = labelled(old, [(f"q{i}", doc, 1) for i, doc in enumerate(old["doc_id"])])
    found = carry_labels(labels, new)
    assert sum(found.counts().values()) == len(labels.qrels)
    texts = new.set_index("doc_id")["text"]
    for row in found.fates.to_dict("records"):
        source = set(old.set_index("doc_id")["text"][row["doc_id"]].split())
        assert all(source & set(texts[name].split()) for name in row["carried_to"])
        assert (row["carried_to"] == ()) == (row["fate"] == "orphaned")
    again = carry_labels(labels, new.sample(frac=1, random_state=seed % 1000))
    assert carried_pairs(again) == carried_pairs(found)
    assert again.fates["fate"].tolist() == found.fates["fate"].tolist()
