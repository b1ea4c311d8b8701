/* A plugin of QEMU (its interface of version 1) that counts the instructions executed at
   addresses from lo to hi, after the one at begin and before the one at end, and writes the
   number to a file when the emulator ends. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of QEMU's qemu-plugin.h, which its packages do not bring along. */
typedef uint64_t plugin_id;
struct tb;
struct instruction;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct instruction *, void (*)(unsigned, void *), int flags,
	void *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *, int operation, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct tb *);
struct instruction *qemu_plugin_tb_get_insn(const struct tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct instruction *);

enum { ADD_U64 = 0, NO_REGISTERS = 0 };

int qemu_plugin_version = 1;

static uint64_t lo, hi, begin, end, executed, before, counted;
static const char *to;

static void begun(unsigned core, void *data)
{
	(void)core;
	(void)data;
	before = executed;
}

static void stopped(unsigned core, void *data)
{
	(void)core;
	(void)data;
	counted += executed - before;
}

static void translated(plugin_id id, struct tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct instruction *in = qemu_plugin_tb_get_insn(tb, i);
		uint64_t at = qemu_plugin_insn_vaddr(in);
		if (at == begin || at == end) {
			qemu_plugin_register_vcpu_insn_exec_cb(in, at == begin ? begun : stopped, NO_REGISTERS, NULL);
		}
		if (at >= lo && at < hi) {
			qemu_plugin_register_vcpu_insn_exec_inline(in, ADD_U64, &executed, 1);
		}
	}
}

__attribute__((destructor)) static void ended(void)
{
	FILE *file = to ? fopen(to, "w") : NULL;
	if (file) {
		fprintf(file, "%" PRIu64 "\n", counted);
		fclose(file);
	}
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value) {
			return 1;
		}
		*value++ = 0;
		if (!strcmp(argv[i], "lo")) {
			lo = strtoull(value, NULL, 0);
		} else if (!strcmp(argv[i], "hi")) {
			hi = strtoull(value, NULL, 0);
		} else if (!strcmp(argv[i], "begin")) {
			begin = strtoull(value, NULL, 0);
		} else if (!strcmp(argv[i], "end")) {
			end = strtoull(value, NULL, 0);
		} else if (!strcmp(argv[i], "to")) {
			to = strdup(value);
		}
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
