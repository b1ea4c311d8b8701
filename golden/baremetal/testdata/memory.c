/* Compares mem.c with byte loops that the compiler cannot turn into calls. */
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

enum { SPAN = 64 };
static uint8_t got[SPAN], want[SPAN], source[SPAN];

static void fresh(void)
{
	for (volatile int i = 0; i < SPAN; i++) {
		got[i] = want[i] = (uint8_t)(7 * i + 1);
		source[i] = (uint8_t)(200 - 3 * i);
	}
}

static int same(void)
{
	for (volatile int i = 0; i < SPAN; i++) {
		if (got[i] != want[i]) {
			return 0;
		}
	}
	return 1;
}

int harness_main(void)
{
	int checked = 0;
	for (size_t to = 0; to < 10; to++) {
		for (size_t from = 0; from < 10; from++) {
			for (size_t size = 0; size < 12; size++) {
				fresh();
				for (volatile size_t i = 0; i < size; i++) {
					want[to + i] = source[from + i];
				}
				if (memcpy(got + to, source + from, size) != got + to || !same()) {
					return 1;
				}
				fresh();
				for (volatile size_t i = 0; i < size; i++) {
					want[to + i] = (uint8_t)(7 * (from + i) + 1);
				}
				if (memmove(got + to, got + from, size) != got + to || !same()) {
					return 2;
				}
				fresh();
				for (volatile size_t i = 0; i < size; i++) {
					want[to + i] = (uint8_t)(0x1F0 + from);
				}
				if (memset(got + to, (int)(0x1F0 + from), size) != got + to || !same()) {
					return 3;
				}
				checked += 3;
			}
		}
	}
	fresh();
	if (memcmp(got, want, SPAN) != 0 || memcmp("ab", "ac", 2) >= 0 || memcmp("\xff", "a", 1) <= 0 ||
	    memcmp("ab", "ac", 1) != 0) {
		return 4;
	}
	harness_print("checked ");
	harness_print_int(checked);
	harness_print("\n");
	return 0;
}
