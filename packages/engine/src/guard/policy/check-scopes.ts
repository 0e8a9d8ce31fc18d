import { isIP } from 'node:net'
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
    /^[A-Z]+$/.test(text) ? undefined : `"${text}" is no HTTP method; they are written like GET.`,
  )
}

function hostProblem(text: string): string | undefined {
  if (text.includes('://'))
    return `"${text}" is an address with a scheme; write the host, such as ${hostOf(text)}.`
  if (/[/?#@\s]/.test(text)) return `"${text}" is more than a host; leave out path and user.`
  const [, name = '', port] =
    /^(\[[^\]]*\]|[^:]*|[\da-f:]*:[\da-f:.]*)(?::(\d+|\*))?$/i.exec(text) ?? []
  if (name === '') return `"${text}" is no host.`
  if (port !== undefined && port !== '*' && Number(port) > 65_535) return `${port} is no port.`
  if (name === '*' || isIP(name.replaceAll(/[[\]]/g, '')) > 0) return undefined
  const labels = name.replace(/\.$/, '').split('.')
  const isFine = labels.every(
    (label, index) => (label === '*' && index === 0) || /^[\p{L}\p{N}_-]+$/u.test(label),
  )
  return isFine
    ? undefined
    : `"${text}" is no host; \`*\` may only stand for everything before a dot, as in *.example.com.`
}

const hostOf = (text: string): string => (URL.canParse(text) ? new URL(text).host : 'example.com')

function addressProblem(text: string): string | undefined {
  // A socket of this machine.
  if (/^unix:./s.test(text)) return undefined
  const bracketed = /^\[([^\]]+)\](?:\/(\d+))?(?::(\d+|\*))?$/.exec(text)
  const plain = /^([\d.]+)(?:\/(\d+))?(?::(\d+|\*))?$/.exec(text)
  const bare = /^([\da-f:.]+)(?:\/(\d+))?$/i.exec(text)
  const [, address = '', bits, port] = bracketed ?? plain ?? bare ?? []
  const family = isIP(address)
  if (family === 0)
    return `"${text}" is no address; write one like 127.0.0.1:5432, 10.1.0.0/16 or [::1]:8080. Names go under allow.`
  if (bits !== undefined && Number(bits) > (family === 4 ? 32 : 128))
    return `/${bits} is too long for an address of IPv${family}.`
  return port !== undefined && Number(port) > 65_535 ? `${port} is no port.` : undefined
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
  if (vector.length === 0) check.add(path, 'It names no program.')
  for (const [index, part] of vector.entries()) {
    if (typeof part !== 'string') check.add([...path, index], 'It is a text.')
    else if (part.includes('\0')) check.add([...path, index], 'It has a null byte.')
    else if (index === 0 && part.trim() === '') check.add([...path, index], 'It names no program.')
    else if ((part === '**' || part === '-**') && index !== vector.length - 1)
      check.add(
        [...path, index],
        `\`${part}\` stands for any number of arguments, and only at the end.`,
      )
  }
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
