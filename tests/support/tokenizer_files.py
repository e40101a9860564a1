"""Small tokenizers of each kind, trained by the package `tokenizers` itself."""

import random

SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "<eos>"]
_SYLLABLES = ["ba", "ko", "ri", "te", "lu", "san", "der", "é", "ß", "日本", "𝄞"]


def texts(count: int, seed: int = 0) -> list[str]:
    """Texts of 0 to 60 words, some with characters of 2 to 4 bytes."""
    draw = random.Random(seed)

    def word() -> str:
        return "".join(draw.choices(_SYLLABLES, weights=[9] * 7 + [1] * 4, k=draw.randint(1, 4)))

    return [" ".join(word() for _ in range(draw.randint(0, 60))) for _ in range(count)]


def trained(kind: str):
    """A tokenizer of the kind "BPE", "WordPiece" or "Unigram", with a template of a pair."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    options = {"vocab_size": 300, "special_tokens": SPECIAL, "show_progress": False}
    if kind == "BPE":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(initial_alphabet=alphabet, **{**options, "vocab_size": 400})
    elif kind == "WordPiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(**options)
    else:
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token="[UNK]", **options)
    made.train_from_iterator(texts(200), trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(one, made.token_to_id(one)) for one in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    return made
