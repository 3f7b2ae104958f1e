"""Retrieval: the passages of a repository that answer an instruction best, by BM25 over windows of sentences.

In: a repository's files (:class:`~benchwright.curation.source.PinnedTree`, or anything with ``paths`` and ``read``)
and a :class:`Setting`, whose defaults are ML-Bench's. Out: :class:`Segment` with text, score and origin. Open
``index.py`` first; ``corpus.py`` says which files are read and in what order, ``sentences.py`` splits them.

    index = Index.build(tree)                                      # ML-Bench's: ten sentences, the first thousand
    index.top("train a GCN on citeseer")[0].text
    Index.build(tree, Setting(sentences=None)).top("learning rate", k=5)
    indexes = Indexes(open_files)                                  # one index per repository and setting
    indexes.get("dgl").top("train a GCN on citeseer")
"""

from .corpus import Corpus, TextFile, ordered_paths, text_files
from .index import ML_BENCH, Index, Segment, Setting
from .indexes import Indexes
from .sentences import Sentence, split_sentences

__all__ = [
    "ML_BENCH",
    "Corpus",
    "Index",
    "Indexes",
    "Segment",
    "Sentence",
    "Setting",
    "TextFile",
    "ordered_paths",
    "split_sentences",
    "text_files",
]
