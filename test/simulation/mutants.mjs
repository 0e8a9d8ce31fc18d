/**
 * Deliberate mistakes, one line each. The simulation must notice every one of them; a
 * mistake it does not notice is a hole in the simulation. `seed` is one that notices it early;
 * without it, the first seed does.
 */
export const MUTANTS = [
  {
    name: 'the gate delivers to the agent in the middle of what it does',
    file: 'engine/dist/sessions/gate.js',
    line: 'natives.setImmediate(this.#turn);',
    mutant: 'this.#turn();',
  },
  {
    name: 'the gate lets the newest answer pass the others',
    file: 'engine/dist/sessions/record-session.js',
    line: 'let next = this.#queue.shift();',
    mutant: 'let next = this.#queue.pop();',
  },
  {
    name: 'an answer reaches the agent without being recorded',
    file: 'engine/dist/sessions/record-session.js',
    line: 'this.#appendAnswer(operation.action, event, operation.id, body, index < last);',
    mutant:
      'if (!event.part) this.#appendAnswer(operation.action, event, operation.id, body, index < last);',
  },
  {
    name: 'a replay delivers parts apart that came together',
    file: 'engine/dist/player/recorded-deliveries.js',
    line: 'event.joined === true && event.op === first.op',
    mutant: 'false',
  },
  {
    name: 'matching in sequence ignores what is asked',
    seed: '4',
    file: 'engine/dist/player/sequence-matcher.js',
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
    name: 'matching of pinned steps takes any step of that kind',
    file: 'engine/dist/player/pinned-matcher.js',
    line: 'const identical = this.#identical(unused, requested);',
    mutant: 'const identical = unused;',
  },
  {
    name: 'the writer does not wait for the disk',
    file: 'tape/dist/node/tape-file.js',
    line: 'fdatasyncSync(this.#fd);',
    mutant: '',
  },
  {
    name: 'a request leaves before the sync that it shares',
    seed: '4',
    file: 'engine/dist/sessions/record-session.js',
    line: 'this.#startWhenDurable(operation);',
    mutant: 'outsideRuns(() => this.#answers.start(operation));',
  },
  {
    name: 'a sync releases those that came after it began',
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
    name: 'a run ends before its last write, which the end shares with the seal',
    file: 'engine/dist/sessions/record-session.js',
    line: 'this.writer.seal({ privateKey: this.#signingKey });',
    mutant: '',
  },
  {
    name: 'the writer that continues a tape forgets what is on it',
    file: 'tape/dist/node/tape-writer.js',
    line: 'encoder.skip(frames.frame(seq), () => tape.body(seq));',
    mutant: '',
  },
  {
    name: 'the hand-over drops what is under way',
    file: 'engine/dist/player/player.js',
    line: 'const { underWay } = this.#deliveries;',
    mutant: 'const underWay = this.#deliveries.underWay.slice(1);',
  },
  {
    name: 'the hand-over repeats what may have had its effect',
    seed: '3',
    file: 'engine/dist/player/hand-over.js',
    line: 'const decision = this.plan.decisions?.[doubt.seq] ?? this.plan.inDoubt;',
    mutant: "const decision = 'retry';",
  },
  {
    name: 'the hand-over asks before the tape is on disk',
    seed: '5',
    file: 'engine/dist/player/hand-over.js',
    line: 'writer.barrier();',
    mutant: ';',
  },
]
