/* A program that never heard of GPUs: threads, a condition variable, a timed wait, thread exit
   while main still works. Ends with code 7. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { kThreads = 8, kSteps = 1000, kExitCode = 7 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int steps;

static void* Work(void* unused) {
  (void)unused;
  for (int i = 0; i < kSteps; ++i) {
    pthread_mutex_lock(&mutex);
    ++steps;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], 0, Work, 0) != 0) return 1;
  }
  pthread_mutex_lock(&mutex);
  while (steps < kThreads * kSteps) pthread_cond_wait(&arrived, &mutex);
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 10 * 1000 * 1000;
  if (soon.tv_nsec >= 1000000000) {
    soon.tv_sec += 1;
    soon.tv_nsec -= 1000000000;
  }
  if (pthread_cond_timedwait(&arrived, &mutex, &soon) != ETIMEDOUT) return 2;
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], 0);
  return kExitCode;
}
