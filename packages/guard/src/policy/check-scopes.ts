import { ArgumentVector } from '../bounds/argument-vector.js'
import { hostPattern } from '../bounds/host-pattern.js'
import { ListedAddresses } from '../bounds/host-pattern.js'
import type { DataCheck, PlainObject } from './data-check.js'

type Path = readonly (string | number)[]

/** Checks that scopes are well formed; what they mean is for those who ask them. */
export function checkScopes(check: DataCheck, policy: PlainObject): void {
  const { files, network, shell } = policy
  if (files !== undefined) checkFiles(check, files)
  if (network !== undefined) checkNetwork(check, network)
  if (shell !== undefined) checkShell(check, shell)
}

function checkFiles(check: DataCheck, data: unknown): void {
  const scope = check.object(['files'], data, 'A file scope', ['read', 'write'])
  if (scope === undefined) return
  for (const key of ['read', 'write'])
    eachText(check, ['files', key], scope[key], 'A folder', (text) =>
      text.includes('\0') ? 'A folder has no null byte.' : undefined,
    )
}

function checkNetwork(check: DataCheck, data: unknown): void {
  const scope = check.object(['network'], data, 'A network scope', [
    'allow',
    'addresses',
    'methods',
  ])
  if (scope === undefined) return
  eachText(check, ['network', 'allow'], scope['allow'], 'A host', hostProblem)
  eachText(check, ['network', 'addresses'], scope['addresses'], 'An address', addressProblem)
  eachText(check, ['network', 'methods'], scope['methods'], 'A method', (text) =>
    /^[A-Z]+$/i.test(text) ? undefined : `"${text}" is no HTTP method; they are written like GET.`,
  )
}

function hostProblem(text: string): string | undefined {
  if (text.includes('://'))
    return `"${text}" is an address with a scheme; write the host, such as ${hostOf(text)}.`
  if (/[/?#@\s]/.test(text)) return `"${text}" is more than a host; leave out path and user.`
  return canBeRead(() => hostPattern(text))
    ? undefined
    : `"${text}" is no host; write one like api.example.com, *.example.com or example.com:8443.`
}

const hostOf = (text: string): string => (URL.canParse(text) ? new URL(text).host : 'example.com')

const addressProblem = (text: string): string | undefined =>
  canBeRead(() => new ListedAddresses([text]))
    ? undefined
    : `"${text}" is no address; write one like 127.0.0.1:5432, 10.1.0.0/16, [::1]:8080 or unix:/run/db.sock. Names go under allow.`

/** The scopes know best what they understand. */
function canBeRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

function checkShell(check: DataCheck, data: unknown): void {
  const scope = check.object(['shell'], data, 'A shell scope', ['allow', 'env'])
  if (scope === undefined) return
  const { allow, env } = scope
  eachText(check, ['shell', 'env'], env, 'A variable', (text) =>
    /[=\0]/.test(text) ? 'It is only the name of a variable.' : undefined,
  )
  if (allow === undefined || !check.list(['shell', 'allow'], allow, 'What may be started')) return
  for (const [index, vector] of allow.entries()) {
    const path = ['shell', 'allow', index]
    if (typeof vector === 'string')
      check.add(
        path,
        `Write the program and its arguments as a list: [${vector.split(/\s+/).join(', ')}].`,
      )
    else if (check.list(path, vector, 'A command')) checkVector(check, path, vector)
  }
}

function checkVector(check: DataCheck, path: Path, vector: readonly unknown[]): void {
  const wrong = vector.findIndex((part) => typeof part !== 'string' || part.includes('\0'))
  if (wrong >= 0) {
    check.add([...path, wrong], 'It is a text without null bytes.')
    return
  }
  const { mistake } = new ArgumentVector(vector as readonly string[])
  if (mistake !== undefined) check.add(path, `It cannot be used: ${mistake}.`)
}

function eachText(
  check: DataCheck,
  path: Path,
  data: unknown,
  what: string,
  problemOf: (text: string) => string | undefined,
): void {
  if (data === undefined || !check.list(path, data, `"${String(path.at(-1))}"`)) return
  for (const [index, each] of data.entries()) {
    if (!check.text([...path, index], each, what)) continue
    const problem = problemOf(each)
    if (problem !== undefined) check.add([...path, index], problem)
  }
}
