/**
 * Reads Who&When: failed runs of groups of agents, each with the step that a
 * person held responsible. Nothing of it is kept in this repository.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {object} LabelledRun
 * @property {'AG' | 'HC'} half Algorithm-generated or hand-crafted.
 * @property {string} id Of the question; the same question can occur in both halves.
 * @property {import('@retake/lab').PriorStep[]} steps
 * @property {number} label The step that a person named, from 0.
 * @property {string} agent The agent that a person named.
 */

const folders = { AG: 'Algorithm-Generated', HC: 'Hand-Crafted' }

/** @returns {LabelledRun[] | undefined} `undefined` when they are not in this folder */
export function readWhoAndWhen(dataFolder) {
  const root = join(dataFolder, 'whowhen')
  if (!Object.values(folders).every((name) => existsSync(join(root, name)))) return undefined
  return Object.entries(folders).flatMap(([half, name]) =>
    readdirSync(join(root, name))
      .filter((file) => file.endsWith('.json'))
      .toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      .map((file) => readRun(half, JSON.parse(readFileSync(join(root, name, file), 'utf8')))),
  )
}

function readRun(half, { history, question_ID: id, mistake_step: step, mistake_agent: agent }) {
  const steps = history.map(half === 'AG' ? generatedStep : craftedStep)
  return { half, id, steps, label: Number(step), agent }
}

/** The first message of an algorithm-generated run is the task, put in the mouth of an agent. */
function generatedStep({ content, name, role }, index) {
  const speaker = name ?? role
  if (index === 0) return { role: 'task', speaker, text: content }
  const isTerminal = speaker === 'Computer_terminal'
  return { role: isTerminal ? 'environment' : 'agent', speaker, text: content }
}

/** "Orchestrator (thought)" plans, "Orchestrator (-> WebSurfer)" instructs. */
function craftedStep({ content, role }) {
  const [speaker, kind] = role.split(' (')
  return { role: craftedRole(speaker, kind), speaker, text: content }
}

function craftedRole(speaker, kind) {
  if (speaker === 'human') return 'task'
  if (speaker === 'ComputerTerminal') return 'environment'
  if (kind === undefined) return 'agent'
  return kind.startsWith('->') ? 'instruction' : 'plan'
}

/** Second opinions on hand-crafted runs: the root step that AgentRx names, from 0, by question. */
export function readSecondLabels(dataFolder) {
  const file = join(dataFolder, 'agentrx', 'magentic_one_ground_truth.json')
  if (!existsSync(file)) return undefined
  const labels = new Map()
  for (const run of JSON.parse(readFileSync(file, 'utf8'))) {
    const root = run.failures.find(
      ({ failure_id: id }) => String(id) === String(run.root_cause?.failure_id),
    )
    const step = Number(root?.step_number)
    if (Number.isInteger(step)) labels.set(run.trajectory_id, step - 1)
  }
  return labels
}
