/** Everything that reads a tape. A reader may refuse it with an error that has a code; nothing else. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { answerPayload, filePayload, requestPayload } from '@retake/tape'
import { CodedError } from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import { readTape } from '@retake/tape/browser'
import { checkIntact } from '@retake/engine/runs'
import { TapeTimeline } from '../../packages/engine/dist/kernel/timeline.js'
import { Options } from '../../packages/runner/dist/command-line/verb.js'
import { readPushedTape } from '../../packages/cli/dist/team/read-pushed-tape.js'
import { verbs as table } from '../../packages/cli/dist/verbs/index.js'
import { RunStore } from '../../packages/runner/dist/runs/run-store.js'
import { viewRun } from '../../packages/runner/dist/runs/view-run.js'
import { localRuns } from '../../packages/web/dist/ui/local-runs.js'
import { compareRuns } from '../../packages/web/dist/ui/compare/compared-rows.js'
import { movedTape } from '../../packages/engine/dist/player/moved-tape.js'
import { baselineFrom } from '../../packages/guard/dist/contract/baseline.js'
import { RunModel } from '../../packages/web/dist/model/run-model.js'
import { copyAsCurl } from '../../packages/web/dist/model/copy-as-curl.js'

const verb = async (name) => (await table[name].load()).default
const names = [
  'show',
  'guard audit',
  'diff',
  'export',
  'scrub --check',
  'report',
  'scrub',
  'verify',
  'list',
  'import',
  'locate',
  'branches',
  'failures',
  'guard policy',
  'receipt make',
  'receipt check',
]
const verbs = Object.fromEntries(
  await Promise.all(names.map(async (name) => [name, await verb(name)])),
)

export const isCoded = (error) =>
  error instanceof CodedError && /^[A-Z][A-Z_0-9]+$/.test(error.code)

const run = (name, values, args) => verbs[name].run(new Options(values), args)

function readSteps(tape) {
  const view = viewRun(tape)
  for (const step of view.steps) {
    JSON.stringify(step)
    void [step.title, step.kind, step.state, step.error, step.parent, step.answerSeqs, step.lane]
    void [step.latencyMs, step.timeToFirstChunkMs, step.usage, step.toolName, step.failure]
    void [
      step.exchange(),
      step.call(),
      step.mcp(),
      step.answerFrames(),
      step.messages(),
      step.answer(),
    ]
  }
  JSON.stringify(view)
  void [view.totals, view.lanes, view.outputs, view.notCaptured, view.result(), view.fileCalls]
  return view
}

/** Each question by itself: one that is refused must not hide the next. */
function askModel(tape, check) {
  let model
  check(() => (model = new RunModel(tape, { status: 'killed' })))
  if (model === undefined) return
  const request = (question) => check(() => JSON.stringify(question()))
  request(() => model.head())
  request(() => [...model.rows()])
  const labels = new Set(['1', '2.1', '0', '__proto__'])
  check(() => {
    for (const { label } of model.view.steps.slice(0, 6)) labels.add(label)
  })
  for (const label of labels) {
    request(() => {
      const detail = model.step(label, { messagesFrom: 0 })
      return detail && [detail, copyAsCurl(detail)]
    })
    request(() => model.stream(label))
    for (const side of ['request', 'response', 'args', 'result', 'output'])
      request(() => model.body(label, side)?.length)
  }
  request(() => model.console())
  request(() => model.files())
  request(() => model.events(0, 100))
  for (const seq of [0, 2, 5, -1, 1e9]) request(() => model.event(seq))
  for (const text of ['a', '[']) request(() => [...model.search(text)])
}

/** What `retake ui` answers about a folder, without its server and threads. */
async function askViewer(file, check) {
  const store = new RunStore(path.dirname(file))
  const runs = localRuns(store)
  const id = path.basename(file, '.tape')
  const asked = []
  const ask = (question) => check(() => asked.push(question()))
  ask(() => runs.runs())
  ask(() => runs.open(id).then(({ model }) => model.head()))
  ask(() => runs.branches(id))
  check(() => compareRuns(store, 'run-1', id))
  try {
    const answers = await Promise.allSettled(asked)
    for (const { reason } of answers.filter(({ status }) => status === 'rejected'))
      check(() => {
        throw reason
      })
  } finally {
    await runs.close()
  }
}

/** What a person edits before a fork. */
function askEdits(tape, check) {
  for (const step of viewRun(tape).recordedSteps) {
    check(() => answerPayload(tape, step))
    check(() => requestPayload(tape, step))
  }
  for (const event of tape.events())
    if (event.type === 'call' && event.kind === 'file') check(() => filePayload(tape, event.seq))
}

const POLICY = {
  name: 'orders',
  rules: [
    { deny: 'refund', when: { order: { over: 1 } } },
    { deny: '*', tainted: { from: ['look', 'refund'] } },
  ],
}

function testPolicy(file, out) {
  const policy = path.join(out, 'policy.json')
  writeFileSync(policy, JSON.stringify(POLICY))
  return run('guard policy', { tapes: path.dirname(file), json: true }, ['test', policy])
}

async function makeReceipt(file, out) {
  const receipt = path.join(out, 'receipt.json')
  await run('receipt make', { steps: '1', out: receipt, json: true, 'allow-neighbors': true }, [
    file,
  ])
  if (existsSync(receipt)) await run('receipt check', { tape: file, json: true }, [receipt])
}

const EXPORTS = ['jsonl', 'otlp-json', 'otlp-protobuf', 'har', 'chrome']

/** `share`: of how many tapes each reader reads one; the expensive ones need not read all. */
export const READERS = {
  bodies: {
    share: 3,
    read: (file) => {
      const tape = openTape(file)
      for (const event of tape.events()) void [tape.body(event.seq), tape.bodySize(event.seq)]
      void tape.digest
    },
  },
  verify: { share: 4, read: (file) => void openTape(file).verify() },
  steps: { share: 2, read: (file) => void readSteps(openTape(file)) },
  model: { share: 8, read: (file, { check }) => askModel(openTape(file), check) },
  timeline: {
    share: 6,
    read: (file) => {
      const tape = openTape(file)
      checkIntact(tape)
      void new TapeTimeline(tape, 1)
    },
  },
  browser: {
    share: 20,
    read: (file) => {
      const tape = readTape(readFileSync(file))
      for (const event of tape.events()) void tape.body(event.seq)
    },
  },
  show: { share: 12, read: (file) => run('show', { json: true }, [file]) },
  'show as text': { share: 12, read: (file) => run('show', {}, [file]) },
  'show --step': { share: 20, read: (file) => run('show', { step: '1' }, [file]) },
  'show --step --json': {
    share: 20,
    read: (file) => run('show', { step: '2', json: true }, [file]),
  },
  viewer: { share: 20, read: (file, { check }) => askViewer(file, check) },
  edits: { share: 20, read: (file, { check }) => askEdits(openTape(file), check) },
  branches: { share: 20, read: (file) => run('branches', { json: true }, [file]) },
  failures: { share: 20, read: (file) => run('failures', { dir: path.dirname(file) }, []) },
  'policy test': { share: 20, read: (file, { out }) => testPolicy(file, out) },
  'policy suggest': {
    share: 20,
    read: (file) =>
      run('guard policy', { tapes: path.dirname(file), 'deny-step': '2' }, ['suggest', file]),
  },
  baseline: { share: 20, read: (file) => void baselineFrom([openTape(file)]) },
  receipt: { share: 20, read: (file, { out }) => makeReceipt(file, out) },
  'moved tape': {
    share: 20,
    read: (file) => {
      const tape = movedTape(openTape(file), { recorded: '/agent', current: '/other' })
      for (const { seq } of tape.events()) void [tape.event(seq), tape.body(seq)]
    },
  },
  scan: { share: 12, read: (file) => run('scrub --check', { json: true }, [file]) },
  audit: { share: 12, read: (file) => run('guard audit', {}, [file]) },
  diff: { share: 16, read: (file, { other }) => run('diff', { full: true }, [other, file]) },
  'diff --json': {
    share: 20,
    read: (file, { other }) => run('diff', { json: true }, [file, other]),
  },
  verified: { share: 20, read: (file) => run('verify', { 'integrity-only': true }, [file]) },
  list: { share: 20, read: (file) => run('list', { dir: path.dirname(file), json: true }, []) },
  pushed: {
    share: 16,
    read: (file) => void [readPushedTape.facts(file), readPushedTape.secrets(file)],
  },
  ...Object.fromEntries(
    EXPORTS.map((format) => [
      `export ${format}`,
      {
        share: 30,
        read: (file, { out }) =>
          run(
            'export',
            { format, out: path.join(out, 'x'), content: true, 'allow-secrets': true, json: true },
            [file],
          ),
      },
    ]),
  ),
  locate: { share: 20, read: (file) => run('locate', {}, [file, 'refund']) },
  'locate --all': {
    share: 20,
    read: (file) => run('locate', { all: true, json: true }, [file, '1']),
  },
  scrub: {
    share: 40,
    read: (file, { out }) => run('scrub', { out: path.join(out, 'scrubbed'), json: true }, [file]),
  },
  report: {
    share: 80,
    read: (file, { out }) =>
      run(
        'report',
        { out: path.join(out, 'x.html'), force: true, json: true, 'allow-secrets': true },
        [file],
      ),
  },
  'report --redact': {
    share: 160,
    read: (file, { out }) =>
      run(
        'report',
        {
          out: path.join(out, 'y.html'),
          force: true,
          redact: ['email'],
          json: true,
          'allow-secrets': true,
        },
        [file],
      ),
  },
}

export const importFile = (file, dir) => run('import', { dir, json: true }, [file])
