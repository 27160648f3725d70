#include "findspot.h"

/* Properties of characters, and of texts that contain them. `many_texts.py` has the same numbers. */
enum { RUN = 1, EMOJI = 2, RARE = 4, NOT_LAST = 8, BEFORE_LETTERS = 16 };

/* Divide texts into words and runs. Each text ends with a line end. The tables have a row for each character of the
 * first plane: its `properties`, the character `in_words` or a space, and what it is `folded` to in runs.
 *
 * `words` becomes the texts with spaces in place of characters that are part of no word. `runs` becomes the terms of
 * the runs of each text, a space after each: every pair of neighbours, and every character once. It has room for five
 * characters for each one of the texts; `run_ends` has where those of each text end. `found` has properties of each
 * text: it contains emoji, or something so rare that it is to be analysed on its own. `seen` is a row of zeros for each
 * character of the first plane. */
EXPORT void divide_texts(const uint32_t *texts, const int64_t *ends, int64_t count, const uint8_t *properties,
                         const uint32_t *in_words, const uint32_t *folded, uint32_t *words, uint32_t *runs,
                         int64_t *run_ends, uint8_t *found, uint32_t *seen) {
    int64_t at = 0, written = 0;
    for (int64_t number = 0; number < count; number++) {
        uint8_t of_text = 0, before = 0;
        uint32_t last = ' ', last_in_run = 0;
        for (; at < ends[number]; at++) {
            bool is_late = texts[at] >= PLANE;
            uint32_t character = is_late ? PLANE - 1 : texts[at];
            uint8_t own = is_late ? RARE : properties[character];
            uint32_t in_word = in_words[character];
            words[at] = in_word;
            if (in_word == ' ' && last < PLANE && properties[last] & NOT_LAST) {
                words[at - 1] = ' '; /* never the first character: `last` begins as a space */
            }
            of_text |= own & (EMOJI | RARE);
            if (own & RUN) {
                uint32_t in_run = folded[character];
                of_text |= before & BEFORE_LETTERS ? RARE : 0;
                if (before & RUN) {
                    runs[written++] = last_in_run;
                    runs[written++] = in_run;
                    runs[written++] = ' ';
                }
                if (in_run < PLANE && seen[in_run] != (uint32_t)number + 1) {
                    seen[in_run] = (uint32_t)number + 1;
                    runs[written++] = in_run;
                    runs[written++] = ' ';
                }
                last_in_run = in_run;
            }
            before = own;
            last = in_word;
        }
        run_ends[number] = written;
        found[number] = of_text;
    }
}
