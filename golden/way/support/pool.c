/* Runs a package's kernels in parts: the first part in the caller's thread, each
 * other in a thread of its own that waits for it. It spins for a while, on x86 up to
 * a millisecond, before it sleeps, so that a call soon after the last finds it awake, and lets
 * other threads run in between. NAME and THREADS are the package's. */
#include <pthread.h>
#include <sched.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	void (*body)(void *, int32_t);
	void *arguments;
	uint32_t round; /* of parallel_for's calls */
	int32_t left;   /* parts that the threads have not done yet */
	int32_t parts[THREADS];
	int started;
} pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0, 0, { 0 }, 0 };

enum { pool_spins = 20000, pool_yield = 256 };

/* Lets time pass in the i-th turn of a loop that waits. */
static void pool_pause(int i)
{
	if (i % pool_yield == pool_yield - 1) {
		sched_yield();
	}
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* Returns when the round after seen has begun. */
static void pool_wait(uint32_t seen)
{
	for (int i = 0; i < pool_spins; i++) {
		if (__atomic_load_n(&pool.round, __ATOMIC_ACQUIRE) != seen) {
			return;
		}
		pool_pause(i);
	}
	pthread_mutex_lock(&pool.lock);
	while (__atomic_load_n(&pool.round, __ATOMIC_ACQUIRE) == seen) {
		pthread_cond_wait(&pool.wake, &pool.lock);
	}
	pthread_mutex_unlock(&pool.lock);
}

static void *pool_thread(void *part)
{
	uint32_t seen;
	for (seen = 0;; seen++) {
		pool_wait(seen);
		pool.body(pool.arguments, *(int32_t *)part);
		__atomic_sub_fetch(&pool.left, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void pool_start(void)
{
	int32_t i;
	for (i = 1; i < THREADS; i++) {
		pthread_t thread;
		pool.parts[i] = i;
		if (pthread_create(&thread, NULL, pool_thread, &pool.parts[i]) || pthread_detach(thread)) {
			abort();
		}
	}
	pool.started = 1;
}

void NAME_parallel_for(void (*body)(void *, int32_t), void *arguments, int32_t parts)
{
	int i;
	if (parts != THREADS) {
		abort();
	}
	if (!pool.started) {
		pool_start();
	}
	pool.body = body;
	pool.arguments = arguments;
	__atomic_store_n(&pool.left, parts - 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&pool.lock);
	__atomic_add_fetch(&pool.round, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&pool.wake);
	pthread_mutex_unlock(&pool.lock);
	body(arguments, 0);
	for (i = 0; __atomic_load_n(&pool.left, __ATOMIC_ACQUIRE) > 0; i = (i + 1) % pool_yield) {
		pool_pause(i);
	}
}

