/* A program that forks, from a thread too, and looks at how its children end: an exit code, a
   signal, an exec. Ends with code 9. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kExitCode = 9 };

static int Wait(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : -1;
}

static void* ForkInThread(void* result) {
  const pid_t child = fork();
  if (child == 0) exit(21);
  *(int*)result = Wait(child);
  return 0;
}

int main(void) {
  pid_t child = fork();
  if (child == 0) _exit(20);
  int status = Wait(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 20) return 1;

  pthread_t thread;
  if (pthread_create(&thread, 0, ForkInThread, &status) != 0) return 2;
  pthread_join(thread, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 21) return 3;

  child = fork();
  if (child == 0) raise(SIGKILL);
  status = Wait(child);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return 4;

  child = fork();
  if (child == 0) execl("/bin/sh", "sh", "-c", "exit 22", (char*)0);
  status = Wait(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 22) return 5;
  return kExitCode;
}
