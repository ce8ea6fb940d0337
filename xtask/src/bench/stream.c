/* Plain loops over three arrays, as STREAM's, written for cargo xtask bench memory.
   usage: stream WORDS PASSES; prints KERNEL BYTES_PER_SECOND of the best pass, the
   first left out. Built with -O3 -march=native -fopenmp. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double *restrict a, *restrict b, *restrict c;
static long words;
/* What was read, so that the reading is not left out. */
static volatile double sum_of_a;

static void copy(void)
{
#pragma omp parallel for
	for (long i = 0; i < words; i++)
		c[i] = a[i];
}

static void scale(void)
{
#pragma omp parallel for
	for (long i = 0; i < words; i++)
		b[i] = 3.0 * c[i];
}

static void add(void)
{
#pragma omp parallel for
	for (long i = 0; i < words; i++)
		c[i] = a[i] + b[i];
}

static void triad(void)
{
#pragma omp parallel for
	for (long i = 0; i < words; i++)
		a[i] = b[i] + 3.0 * c[i];
}

static void fill(void)
{
#pragma omp parallel for
	for (long i = 0; i < words; i++)
		a[i] = 3.0;
}

static void sum(void)
{
	double all = 0.0;
#pragma omp parallel for simd reduction(+ : all)
	for (long i = 0; i < words; i++)
		all += a[i];
	sum_of_a = all;
}

static void measure(const char *name, long bytes, long passes, void (*kernel)(void))
{
	double best = 1e30;
	for (long pass = 0; pass < passes; pass++) {
		double began = now();
		kernel();
		double took = now() - began;
		if (pass > 0 && took < best)
			best = took;
	}
	printf("%s %.0f\n", name, (double)bytes * words / best);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	words = atol(argv[1]);
	long passes = atol(argv[2]);
	size_t size = words * sizeof(double);
	a = aligned_alloc(1 << 21, size);
	b = aligned_alloc(1 << 21, size);
	c = aligned_alloc(1 << 21, size);
	if (!a || !b || !c)
		return 1;
	/* As assay does: the kernel may be asked for huge pages by name only. */
	madvise(a, size, MADV_HUGEPAGE);
	madvise(b, size, MADV_HUGEPAGE);
	madvise(c, size, MADV_HUGEPAGE);
	/* Pages are near to the thread that touches them first. */
#pragma omp parallel for
	for (long i = 0; i < words; i++) {
		a[i] = 1.0;
		b[i] = 2.0;
		c[i] = 0.5;
	}
	measure("copy", 16, passes, copy);
	measure("scale", 16, passes, scale);
	measure("add", 24, passes, add);
	measure("triad", 24, passes, triad);
	measure("memset", 8, passes, fill);
	measure("read", 8, passes, sum);
	return 0;
}
