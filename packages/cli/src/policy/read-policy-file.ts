import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isInstalled, uninstall } from '@retake/engine'
import { policyUnreadable } from '../errors/guard.js'

/** Where in a file something stands, both from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** A policy file as data, and where in it each part stands. */
export interface PolicyFile {
  readonly file: string
  readonly data: unknown
  /** Undefined where the file is a program. */
  placeOf(path: readonly (string | number)[]): Place | undefined
}

/** Reads YAML, JSON, or the default export of a JavaScript or TypeScript file. */
export async function readPolicyFile(file: string): Promise<PolicyFile> {
  if (/\.[cm]?[jt]s$/.test(file)) return readModule(file)
  const { parsePolicy } = await import('./parse-policy.js')
  return parsePolicy(file, read(file))
}

/** What is no UTF-8 is not guessed: a name with other letters than were meant is about no tool. */
function read(file: string): string {
  const bytes = readBytes(file)
  if (!isUtf8(bytes)) throw policyUnreadable(file, 'It is not UTF-8', 'Save it as UTF-8.')
  return bytes.toString()
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw policyUnreadable(
        file,
        `There is no file ${path.resolve(file)}`,
        'Check the path; it is meant from the working directory.',
      )
    throw policyUnreadable(file, error instanceof Error ? error.message : String(error))
  }
}

async function readModule(file: string): Promise<PolicyFile> {
  const wasInstalled = isInstalled()
  try {
    if (file.endsWith('ts')) await import('../typescript/typescript-loader.js')
    const { href } = pathToFileURL(path.resolve(file))
    const module = (await import(href)) as { readonly default?: unknown }
    return { file, data: module.default, placeOf: () => undefined }
  } catch (error) {
    throw policyUnreadable(file, error instanceof Error ? firstLine(error.message) : String(error))
  } finally {
    // Presets come with the library, which puts itself between a program and the outside.
    // Where it is there already, a program uses it, and its guards go on holding.
    if (!wasInstalled) uninstall()
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''
