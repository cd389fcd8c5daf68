#include "ui/testing/sample_texts.h"

namespace octavo {

const std::string_view sample_reply =
    R"(The access code of the lighthouse is **QUARTZ-DELTA-8813**. The list names three people who may use it:

1. **Orla Finch**, harbour master, at any time
2. **Tomas Reed**, keeper, between *sunset and sunrise*
3. the pilot on duty, after a call to the office

### What the list says about times

| Person | From | Until | Note |
|:-------|:----:|:-----:|-----:|
| Orla Finch | 00:00 | 24:00 | holds the spare key |
| Tomas Reed | 18:40 | 06:10 | winter times |
| Pilot | 08:00 | 20:00 | by telephone |

> The code is changed on the first day of each quarter, and the old one stops working at noon.

The rule is on page 14, in the paragraph that begins with `Access to the lamp room`; a copy hangs in the [harbour office](https://example.org/harbour).)";

const std::string_view sample_code_reply =
    R"(Here it is. The function refuses an empty name, and everything outside the hours of the list:

```cpp
// True when `name` may open the lamp room at `minute` of the day.
bool may_enter(std::string_view name, int minute) {
    for (const Entry& entry : kList)
        if (entry.name == name)
            return entry.from <= minute && minute < entry.until;
    return false;
}
```

- `minute` counts from midnight, so 18:40 is `1120`
- a span over midnight needs two entries:
  - from 18:40 to 24:00
  - from 00:00 to 06:10
- [x] tested against the list
- [ ] summer times

Nothing else in the text restricts it.)";

const std::string_view sample_thinking =
    R"(The person asks for the code and for who may use it. The document has both: the code is in the second paragraph, the names are in the list on page 14. I should give the code exactly, then the names with their hours.)";

const std::string_view sample_scripts =
    "灯塔的门禁码是 **QUARTZ-DELTA-8813**。名单上有三个人可以使用。\n\n"
    "カタカナとひらがな、漢字も読めます。 한국어 문장도 보입니다.\n\n"
    "Ελληνικά, кириллица, עברית, العربية، Tiếng Việt, e\xCC\x81 a\xCC\x8A o\xCC\x88.\n\n"
    "Emoji: \xF0\x9F\x98\x80 \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80 \xF0\x9F\x8F\xB4 \xE2\x9D\xA4\xEF\xB8\x8F "
    "\xF0\x9F\x9A\xA2 ∀x ∈ ℝ: x² ≥ 0, ½ ≠ ⅓ → ⇒ ☂ ♞\n\n"
    "Broken bytes: [\xFF\xFE] [\xC3] [\xE4\xB8] end.";

}  // namespace octavo
