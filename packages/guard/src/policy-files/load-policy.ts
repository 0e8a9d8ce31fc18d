import path from 'node:path'
import { closestName } from '@retake/engine/runs'
import { RetakeError } from '@retake/engine/errors'
import { checkPolicy, type Policy } from '../policy/policy.js'
import type { DataProblem } from '@retake/engine/schema'
import { presets } from '../policy/presets.js'
import { protectOwnFiles } from '../paths/own-files.js'
import { policyFileErrors } from './policy-file-errors.js'
import { isUtf8 } from 'node:buffer'
import { isRecord } from '@retake/tape/format'
import { readFileSync } from 'node:fs'

export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** A policy file as data, with the position of each part. */
export interface PolicyFile {
  readonly file: string
  readonly data: unknown
  /** Returns undefined if the file is a program. */
  positionOf(path: readonly (string | number)[]): TextPosition | undefined
}

async function readPolicyFile(file: string): Promise<PolicyFile> {
  if (/\.[cm]?[jt]s$/.test(file)) {
    try {
      const { importDefault } = await import('@retake/runner/load-config')
      const data = await importDefault(path.resolve(file))
      return { file, data, positionOf: () => undefined }
    } catch (error) {
      const said = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
      throw policyFileErrors.POLICY_UNREADABLE(file, said ?? '')
    }
  }
  const { parsePolicy } = await import('./parse-policy.js')
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw policyFileErrors.POLICY_UNREADABLE(file, message)
    throw policyFileErrors.POLICY_UNREADABLE(
      file,
      `There is no file ${path.resolve(file)}`,
      'Check the path; it is relative to the working directory.',
    )
  }
  // A wrongly decoded name would match no tool.
  if (!isUtf8(bytes))
    throw policyFileErrors.POLICY_UNREADABLE(file, 'It is not UTF-8', 'Save it as UTF-8.')
  return parsePolicy(file, bytes.toString())
}

export interface LocatedProblem extends DataProblem {
  /** `policy.yaml:3:5`, or only the file if it is a program. */
  readonly at: string
  readonly line?: number
  readonly column?: number
}

/**
 * Reads a policy from YAML, JSON or a module, for `guard()`. Folders in it are relative to the
 * file. A file may contain one policy or a list, and name presets under `presets`.
 */
export async function loadPolicy(file: string): Promise<readonly Policy[]> {
  const { policies, problems } = await checkPolicyFile(file)
  if (problems.length > 0)
    throw policyFileErrors.POLICY_FILE_INVALID(
      file,
      problems.map(({ at, message }) => `${at}: ${message}`),
    )
  protectOwnFiles(file, 'the policy in use')
  return policies
}

/** Like `loadPolicy`, but returns all problems instead of throwing the first. */
export async function checkPolicyFile(
  file: string,
  tools?: readonly string[],
): Promise<{ readonly policies: readonly Policy[]; readonly problems: readonly LocatedProblem[] }> {
  const read = await readPolicyFile(file)
  const parts = Array.isArray(read.data)
    ? read.data.map((data: unknown, index) => ({ data, path: [index] }))
    : [{ data: read.data, path: [] }]
  const policies: Policy[] = []
  const problems: LocatedProblem[] = []
  if (parts.length === 0)
    problems.push(
      located(read, [], { path: [], message: 'The list is empty: it would stop nothing.' }),
    )
  for (const part of parts) {
    const expanded = expandPresets(part.data)
    const found = [...expanded.problems, ...checkPolicy(expanded.rest, { isFile: true, tools })]
    problems.push(...found.map((problem) => located(read, part.path, problem)))
    if (found.length === 0)
      policies.push(
        ...[...expanded.used, expanded.rest as Policy].map((policy) =>
          fromFolder(policy, path.dirname(path.resolve(file))),
        ),
      )
  }
  const sorted = problems.toSorted(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
  return { policies, problems: sorted }
}

function located(
  policyFile: PolicyFile,
  at: readonly (string | number)[],
  problem: DataProblem,
): LocatedProblem {
  const { file } = policyFile
  const position = policyFile.positionOf([...at, ...problem.path])
  return position
    ? { ...problem, at: `${file}:${position.line}:${position.column}`, ...position }
    : { ...problem, at: file }
}

/** `presets: [readOnly, { sandbox: { root: ./work } }]`. */
function expandPresets(data: unknown): {
  readonly used: readonly Policy[]
  readonly rest: unknown
  readonly problems: readonly DataProblem[]
} {
  if (typeof data !== 'object' || data === null || !('presets' in data))
    return { used: [], rest: data, problems: [] }
  const { presets: named, ...rest } = data
  const used: Policy[] = []
  const problems: DataProblem[] = []
  const all = Array.isArray(named) ? (named as readonly unknown[]) : [named]
  for (const [index, each] of all.entries()) {
    const [name, options] = presetOf(each)
    if (isRecord(each) && Object.keys(each).length > 1) {
      const message = 'It names several presets. Write one entry for each: `- noShell`.'
      problems.push({ path: ['presets', index], message })
      continue
    }
    const make = Object.hasOwn(presets, name) ? makers[name] : undefined
    if (make !== undefined) {
      let wrong: readonly string[]
      try {
        const made = make(options)
        wrong = checkPolicy(made).map(({ message }) => message)
        used.push(made)
      } catch (error) {
        const isOurs = error instanceof RetakeError
        const otherwise = `The options of preset "${name}" are missing, or have the wrong type.`
        wrong = [isOurs ? error.what : otherwise]
      }
      problems.push(...wrong.map((message) => ({ path: ['presets', index], message })))
    } else {
      const close = closestName(name, Object.keys(presets))
      const known =
        close === undefined
          ? `They are ${Object.keys(presets).join(', ')}.`
          : `Did you mean ${close}?`
      problems.push({ path: ['presets', index], message: `There is no preset "${name}". ${known}` })
    }
  }
  return { used, rest, problems }
}

const makers: Readonly<Record<string, (options: never) => Policy>> = presets

function presetOf(value: unknown): [name: string, options: never] {
  if (typeof value !== 'object' || value === null) return [String(value), {} as never]
  const [[name, options] = ['', {}]] = Object.entries(value)
  return [name, (options ?? {}) as never]
}

/** Folders are relative to the file, not to the working directory. */
function fromFolder(policy: Policy, folder: string): Policy {
  const { files } = policy
  if (files === undefined) return policy
  const from = (roots: readonly string[]) => roots.map((root) => path.resolve(folder, root))
  return {
    ...policy,
    files: {
      ...files,
      ...(files.read && { read: from(files.read) }),
      ...(files.write && { write: from(files.write) }),
    },
  }
}
