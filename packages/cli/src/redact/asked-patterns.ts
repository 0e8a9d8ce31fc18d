import { project } from '../config/project.js'
import { readPatterns, type Pattern } from './patterns.js'

/** Patterns of the project, and those that a command was given. */
export const askedPatterns = (given: readonly string[]): Pattern[] =>
  readPatterns([...project().redact, ...given])
