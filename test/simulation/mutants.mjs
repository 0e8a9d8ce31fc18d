/**
 * Deliberate mistakes, one line each. The simulation must notice every one of them; a
 * mistake it does not notice is a hole in the simulation. `seed` is one that notices it early;
 * without it, the first seed does.
 */
export const MUTANTS = [
  {
    name: 'the gate delivers an answer while the agent is running',
    file: 'engine/dist/kernel/gate.js',
    line: 'natives.setImmediate(this.#turn);',
    mutant: 'this.#turn();',
  },
  {
    name: 'the gate delivers the newest answer first',
    file: 'engine/dist/kernel/record-session.js',
    line: 'let next = this.#queue.shift();',
    mutant: 'let next = this.#queue.pop();',
  },
  {
    name: 'an answer reaches the agent without being recorded',
    file: 'engine/dist/kernel/record-session.js',
    line: 'this.#appendAnswer(operation.action, event, operation.id, body, index < last);',
    mutant:
      'if (!event.part) this.#appendAnswer(operation.action, event, operation.id, body, index < last);',
  },
  {
    name: 'a replay separates parts that were delivered together',
    file: 'engine/dist/kernel/recorded-deliveries.js',
    line: 'event.joined === true && event.op === first.op',
    mutant: 'false',
  },
  {
    name: 'matching by sequence ignores the request',
    seed: '4',
    file: 'engine/dist/kernel/sequence-matcher.js',
    line: 'if (recordedSha(this.tape, event.seq) !== bodySha(masked))',
    mutant: 'if (false)',
  },
  {
    name: 'matching by content ignores the content',
    seed: '6',
    file: 'engine/dist/player/content-matcher.js',
    line: 'const identical = this.identical(event, body);',
    mutant: 'const identical = this.#sameKind(event);',
  },
  {
    name: 'matching of pinned steps accepts any step of the same kind',
    file: 'engine/dist/player/pinned-matcher.js',
    line: 'const identical = this.#identical(unused, requested);',
    mutant: 'const identical = unused;',
  },
  {
    name: 'the writer does not wait for the disk',
    file: 'tape/dist/node/tape-file.js',
    line: 'fdatasyncSync(this.fd);',
    mutant: '',
  },
  {
    name: 'a request is sent before its shared sync has ended',
    seed: '4',
    file: 'engine/dist/kernel/record-session.js',
    line: 'this.#startWhenDurable(operation);',
    mutant: 'outsideRuns(() => this.#answers.start(operation));',
  },
  {
    name: 'a sync releases requests that came after it started',
    seed: '5',
    file: 'tape/dist/node/tape-file.js',
    line: 'one.end <= this.#synced',
    mutant: 'true',
  },
  {
    name: 'a shared sync forgets the name of the file',
    seed: '3',
    file: 'tape/dist/node/tape-file.js',
    line: 'syncFolderLater(dirname(this.path), syncFile);',
    mutant: 'syncFile();',
  },
  {
    name: 'a run ends before its last write, which it shares with the seal',
    file: 'engine/dist/kernel/record-session.js',
    line: 'this.writer.seal({ privateKey: this.#signingKey });',
    mutant: '',
  },
  {
    name: 'a writer that continues a tape forgets its content',
    file: 'tape/dist/node/tape-writer.js',
    line: 'encoder.skip(frames.frame(seq), () => tape.storedBody(seq));',
    mutant: '',
  },
  {
    name: 'the hand-over drops operations under way',
    file: 'engine/dist/kernel/player.js',
    line: 'const { underWay } = this.#deliveries;',
    mutant: 'const underWay = this.#deliveries.underWay.slice(1);',
  },
  {
    name: 'the hand-over repeats an operation that may have had its effect',
    seed: '3',
    file: 'engine/dist/kernel/settle-doubts.js',
    line: 'const decision = this.plan.decisions?.[seq] ?? this.plan.inDoubt;',
    mutant: "const decision = 'retry';",
  },
  {
    name: 'the hand-over sends a request before the tape is on disk',
    seed: '5',
    file: 'engine/dist/player/play.js',
    line: 'events.barrier();',
    mutant: ';',
  },
]
