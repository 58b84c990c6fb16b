"""Classifies a comment's first sentence for reading.py: a sentence, a label, or a fragment.

HanTa tags the words with the classes of the British National Corpus (C5). A finite verb is of the main clause unless a
word before it opened another clause ("that", "which", "when", "whether", "what"), which takes the next verb for itself.
A sentence may begin with its verb: "Returns the ranks." and "Parse a document." are about the code below.

Without a verb of its main clause the text is a label where a noun heads it ("The members' ranks."), as declarations of
data have it, and a fragment where it is a clause or a phrase that hangs on nothing ("Whether it fits.", "Of one rank.").
"""

import functools
import re

SENTENCE, LABEL, FRAGMENT = "sentence", "label", "fragment"
TOKEN = re.compile(r"[A-Za-z_~](?:[\w:.'/*<>-]*\w)?(?:\(\))?|\d[\w.%/-]*|[,;:()]")
# A name of the code rather than a word: it has an underscore, a colon, a slash, or a capital after a small letter.
NAME = re.compile(r"_|::|/|\(\)|<|[a-z][A-Z]|[A-Z]{2}|\w\.\w")
FINITE = {"VVZ", "VVD", "VVB", "VBZ", "VBB", "VBD", "VHZ", "VHB", "VHD", "VDZ", "VDB", "VDD", "VM0"}
OPENS = {"CJT", "CJS", "PNQ", "DTQ", "AVQ"}
# Classes that follow a verb at the beginning. Most verbs may be nouns, which a preposition or another noun follows.
OBJECT = {"AT0", "DPS", "DT0", "CRD", "PNP", "CJT", "CJS", "DTQ", "AVQ", "AVP", "XX0"}
# A clause at the beginning that ends at a comma.
CONDITIONS = {
    "when",
    "if",
    "while",
    "because",
    "since",
    "once",
    "unless",
    "although",
    "though",
    "until",
    "before",
    "after",
}
TAKES = {"AT0", "DPS", "PNP", "CJT"}
MODAL = {"can", "cannot", "may", "might", "must", "shall", "should", "will", "would", "could"}
AUXILIARY = {
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "does",
    "do",
    "did",
    "isn't",
    "aren't",
    "doesn't",
    "don't",
}
# Words with which no label begins: they open a clause or a phrase.
HANGING = set(
    "what whatever whether who whom whose where wherever which how when whenever why that while if unless because so "
    "until till as since although though than of by for in to with on at from between beside besides below above "
    "without within under among like not after before through per against into over up down outside inside instead "
    "and or but also then too towards toward about during across behind beyond despite except plus via".split()
)
RARE = -16  # Below this logarithm of its rate a word is not of a class.


@functools.cache
def tagger():
    from HanTa import HanoverTagger

    return HanoverTagger.HanoverTagger("morphmodel_en.pgz")


def tokens(sentence):
    sentence = re.sub(r"`[^`]*`", "GPU", sentence)
    return ["GPU" if NAME.search(word) else word for word in TOKEN.findall(sentence)]


@functools.cache
def may_be_verb(word):
    """Returns whether the model has the word as a base form or third person, however rarely."""
    tags = tagger().tag_word(word.lower(), cutoff=12)
    return any(tag in ("VVI", "VVB", "VVZ") and rate > RARE for tag, rate in tags)


def tagged(sentence):
    """Returns (word, class) of each word. The first is in small letters, so that it is not taken for a name."""
    found = tokens(sentence)
    if found and found[0][1:].islower():
        found[0] = found[0].lower()
    classes = [tag for _, _, tag in tagger().tag_sent(found)] if found else []
    return [(word, class_of(at, word.lower(), classes)) for at, word in enumerate(found)]


def class_of(at, word, classes):
    """The tagger's class, but for words that it often takes for nouns."""
    if word in MODAL | AUXILIARY:
        return "VM0" if word in MODAL else "VBZ"
    following = classes[at + 1] if at + 1 < len(classes) else ""
    # "The agent reports it."
    if 0 < at and classes[at] == "NN2" and classes[at - 1] in ("NN1", "NP0", "AJ0", "PNP") and following in TAKES:
        return "VVZ"
    # "Parse a document."
    return "VVB" if at == 0 and classes[at] in ("NN1", "NP0") and following in ("AT0", "DPS", "DT0") else classes[at]


def begins_with_verb(pairs):
    """Returns whether it is an imperative, or a statement whose subject is the code below the comment."""
    pairs = [pair for pair in pairs if pair[1] != "AV0"] or pairs
    word, tag = pairs[0]
    if word == "requires" or tag in ("VVZ", "VBZ", "VHZ", "VDZ", "VM0"):
        return True
    return len(pairs) > 1 and (tag in ("VVB", "VVI") or may_be_verb(word)) and pairs[1][1] in OBJECT


def has_main_verb(pairs):
    """Returns whether a finite verb is left when each clause that a word opens has taken one."""
    open_clauses, subordinate = 0, False
    for at, (word, tag) in enumerate(pairs):
        if word == "," and open_clauses == 1 and pairs[0][0] in CONDITIONS:
            open_clauses = 0
        elif tag in OPENS or (word in ("that", "which", "who", "whose", "where", "when") and at > 0):
            open_clauses += 1
        elif tag in FINITE:
            joined = subordinate and pairs[at - 1][1] == "CJC"
            if not open_clauses and not joined:
                return True
            open_clauses -= not joined
            subordinate = True
    return False


def kind(sentence):
    pairs = tagged(sentence)
    if not pairs or begins_with_verb(pairs) or has_main_verb(pairs):
        return SENTENCE
    return FRAGMENT if pairs[0][0].lower() in HANGING else LABEL
