"""Seeded texts that prove one tokenizer engine equal to another.

They mix what real prompts mix: languages, code, numbers, white-space runs, control characters, whole and cut special
tokens, pieces of the vocabulary itself, and random Unicode.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

SENTENCES = (
    "The quick brown fox doesn't jump; it'll rest, won't it? I'M SURE WE'VE MET, they'd say.",
    "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Der Fluß fließt übers Moor – „ganz gewiß“, sagte Frau Müller-Lüdenscheidt.",
    "L'été, où l'on s'égare à Noël; ça coûte 3,50 € l'œuf.",
    "¿Dónde está el niño? ¡Aquí mismo! Ação e coração, São Paulo.",
    "Съешь ещё этих мягких французских булок, да выпей чаю. Їжак і ґанок.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ἐν ἀρχῇ ἦν ὁ λόγος.",
    "敏捷的棕色狐狸跳过懒狗。今天天气很好，我们去公园吧！價錢是一百二十元。",
    "いろはにほへと ちりぬるを。東京タワーへ行きました、ﾊﾝｶｸｶﾅも。",
    "키스의 고유조건은 입술끼리 만나야 하고. 한글 자모 각",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. ١٢٣٤٥",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा। १२३ नमस्ते",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "Tiếng Việt có dấu: Đường đến trường thật xa. Bệnh viện ở đâu?",
    "যুগ যুগ ধরে মানুষ ভাষা নিয়ে গবেষণা করেছে। தமிழ் மொழி அழகானது",
    "ქართული ენა · Հայերեն լեզու · አማርኛ ቋንቋ · ភាសាខ្មែរ · မြန်မာဘာသာ",
    "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag 👍🏽 ok 🇩🇪🇯🇵 e\u0301 vs é, ﬁ ligature, Å Å ½ ² ™ ①",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𓀀 🀄 \ue000\uf8ff \ufeff\u200b\u200d\u00ad",
    "def f(x: int = 0x1F) -> list[int]:\n    return [i ** 2 for i in range(x) if i % 2 == 0]  # ok\n",
    "for (let i=0;i<n;++i){ console.log(`${a[i]}\\n`); } /* c */ //\t\tend\r\n",
    "SELECT * FROM t WHERE id>=10 AND name LIKE '%o''k%';\n-- x\n#include <stdio.h>\r\n",
    '{"a": [1, 2.5e-3, null, true], "b\\u00e9": {"c": "\\"q\\""}}',
    "<div class='x'>&nbsp;<br/></div> http://example.com/a?b=c&d=%20#f user@host.tld C:\\dir\\f.txt",
    "3.14159 1,234,567.89 0000 20241231 1e10 -42 +7 1/2 50% $9.99 v1.2.3-rc.4 192.168.0.1 ½ ٣ 十二",
    "iPhone15ProMax camelCaseWord snake_case_word SCREAMING_CASE kebab-case-word ThisIsATest123abc",
)

_SPACES = (
    " ",
    "  ",
    "   ",
    " " * 7,
    " " * 33,
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "\t \t",
    " \n ",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\x0b\x0c",
)
_CONTROLS = "".join(map(chr, (*range(32), *range(0x7F, 0xA0))))
_PLANES = (
    (0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x900, 0xE00), (0x1100, 0x1200), (0x2000, 0x2C00),
    (0x3000, 0x3400), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0xE000, 0xF900), (0xF900, 0xFFFE), (0x1F000, 0x1FB00),
    (0x10000, 0x10FFFE),
)  # fmt: skip


def fuzz_texts(count: int, special: Sequence[str], pieces: Sequence[str], seed: int = 7) -> list[str]:
    """`count` texts, the same for the same arguments.

    Args:
        special: texts of added tokens.
        pieces: texts that vocabulary entries decode to.
    """
    source = random.Random(seed)
    fixed = ["", *SENTENCES, *_SPACES, *(a + b for a in _SPACES for b in _SPACES[:5]), *special[:400], "a" * 300]
    makers = [
        lambda: source.choice(SENTENCES),
        lambda: _slice(source, source.choice(SENTENCES)),
        lambda: source.choice(_SPACES) * source.randint(1, 4),
        lambda: "".join(source.choices(_CONTROLS, k=source.randint(1, 4))),
        lambda: _random_unicode(source),
        lambda: str(source.randrange(10 ** source.randint(1, 12))),
        lambda: "".join(source.choices(pieces, k=source.randint(1, 6))) if pieces else "",
        lambda: source.choice(special) if special else "",
        lambda: _slice(source, source.choice(special)) if special else "",
        lambda: source.choice("'’\"`_-.,;:!?()[]{}<>/\\|@#$%^&*~=+") * source.randint(1, 5),
    ]
    mixed = [
        "".join(source.choice(makers)() for _ in range(source.randint(1, 8))) for _ in range(max(0, count - len(fixed)))
    ]
    return (fixed + mixed)[:count]


def _slice(source: random.Random, text: str) -> str:
    start = source.randrange(len(text))
    return text[start : source.randint(start, len(text))]


def _random_unicode(source: random.Random) -> str:
    low, high = source.choice(_PLANES)
    return "".join(chr(source.randrange(low, high)) for _ in range(source.randint(1, 12)))
