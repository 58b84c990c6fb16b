/* A facade has a name and a need, no code. */
typedef int eidolon_facade;
