/** Programs a tool may start. */
export interface ShellScope {
  /**
   * Argument vectors: program, then arguments. Missing: every program; empty: none.
   *
   * `*` fits one argument, `**` at the end any number; neither fits an argument that starts
   * with `-`, because options can turn one program into another. `-*` fits one option, `-**`
   * at the end anything. Inside an argument, such as `--file=*`, `*` stands for any characters.
   *
   * A program is a name, looked up in the `PATH` the guard was made with, or a path. Text for
   * a shell fits only a vector that holds it word for word: `['sh', '-c', 'ls | wc -l']`. A
   * worker thread is `['worker', file]`, a native addon `['addon', file]`, a signal to another
   * process `['kill', '-SIGTERM', pid]`.
   */
  readonly allow?: readonly (readonly string[])[]
  /**
   * Variables a program may be given that this process has not, or has with another value;
   * `*` stands for any characters. None unless set.
   */
  readonly env?: readonly string[]
}
