/* The run side of the reference backend in C: a driver as an application links it. It is for little
 * endian machines, and for one call at a time: temporary tensors are in memory of its own. */
#include "net_delegate.h"

#include <string.h>

enum { ADD, MUL, LINEAR, TENSORS = 64, SCRATCH = 8192 /* floats */ };
#define NONE UINT32_MAX

typedef struct { char magic[4]; uint32_t inputs, outputs, constants, code; } header;
typedef struct { uint32_t op, to, a, b, c; } instruction;
typedef struct { float *to; const float *data; size_t n, depth; } operand;

/* init refuses a payload whose counts do not fit. */
bool ReferenceBackend_init(const etgen_delegate *delegate)
{
    const header *h = (const header *)delegate->processed;
    return delegate->processed_size >= sizeof *h && memcmp(h->magic, "REF1", 4) == 0
        && (uint64_t)h->inputs + h->outputs + h->constants + h->code <= TENSORS
        && delegate->processed_size == sizeof *h + h->constants * 64u + h->code * sizeof(instruction);
}

static operand tensor(float *to, const float *data, const int32_t *sizes, int32_t rank)
{
    operand t = {to, data, 1, rank > 0 ? (size_t)sizes[rank - 1] : 0};
    for (int32_t i = 0; i < rank; i++) {
        t.n *= (size_t)sizes[i];
    }
    return t;
}

/* run computes what has room for to->n elements. */
static bool run(const instruction *i, operand *to, const operand *a, const operand *b, const operand *c)
{
    const bool linear = i->op == LINEAR && a->depth > 0;
    const size_t depth = linear ? a->depth : 1, width = linear ? b->n / depth : 1;
    const size_t n = a->n / depth * width;
    if (!to->to || !a->data || !b->data || n > to->n || i->op > LINEAR || (i->op == LINEAR && !linear)
        || (linear ? width * depth != b->n || (c && c->n != width) : b->n != 1 && b->n != n)) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        double sum = c ? (double)c->data[k % width] : 0.0;
        for (size_t d = 0; linear && d < depth; d++) {
            sum += (double)a->data[k / width * depth + d] * (double)b->data[k % width * depth + d];
        }
        to->to[k] = linear ? (float)sum : i->op == ADD ? a->data[k] + b->data[k % b->n]
            : a->data[k] * b->data[k % b->n];
    }
    to->data = to->to;
    to->n = n;
    to->depth = linear ? width : a->depth;
    return true;
}

bool ReferenceBackend_execute(const etgen_delegate *delegate, const etgen_tensor *inputs,
    size_t inputs_count, const etgen_out *outputs, size_t outputs_count)
{
    static float scratch[SCRATCH];
    operand t[TENSORS] = {{0}};
    const header *h = (const header *)delegate->processed;
    const char *key = (const char *)(h + 1);
    const instruction *i = (const instruction *)(const void *)(key + h->constants * 64u);
    const instruction *const end = i + h->code;
    const size_t constants = h->inputs + h->outputs, temporary = constants + h->constants;
    size_t k, n, used = 0;

    if (inputs_count != h->inputs || outputs_count != h->outputs) {
        return false;
    }
    for (k = 0; k < inputs_count; k++) {
        t[k] = tensor(NULL, (const float *)inputs[k].data, inputs[k].sizes, inputs[k].rank);
    }
    for (k = 0; k < outputs_count; k++) {
        t[inputs_count + k] = tensor((float *)outputs[k].data, NULL, outputs[k].sizes, outputs[k].rank);
    }
    for (k = constants; k < temporary; k++, key += 64) {
        for (n = 0; n < delegate->named_count; n++) {
            if (strncmp(delegate->named[n].key, key, 64) == 0) {
                t[k].data = (const float *)delegate->named[n].data;
                t[k].n = delegate->named[n].size / sizeof(float);
            }
        }
    }
    for (; i < end; i++) {
        if (i->to >= TENSORS || i->a >= TENSORS || i->b >= TENSORS || (i->c != NONE && i->c >= TENSORS)) {
            return false;
        }
        if (i->to >= temporary) {
            t[i->to] = (operand){&scratch[used], NULL, SCRATCH - used, 0};
        }
        if (!run(i, &t[i->to], &t[i->a], &t[i->b], i->c == NONE ? NULL : &t[i->c])) {
            return false;
        }
        used += i->to >= temporary ? t[i->to].n : 0;
    }
    return true;
}
