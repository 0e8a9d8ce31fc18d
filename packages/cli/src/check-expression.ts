import { Script } from 'node:vm'
import { expressionInvalid } from './errors/inspect.js'

/**
 * An expression as it is evaluated: in parentheses where that parses, so that
 * `{ a, b }` is an object. Throws when it is no JavaScript.
 */
export function checkExpression(expression: string): string {
  // Private names are fine at a line inside their class, and nowhere else.
  const plain = expression.replaceAll(/\.#(?=[\w$])/g, '._')
  const inParentheses = `(${plain}\n)`
  if (parses(inParentheses) === undefined) return `(${expression}\n)`
  const problem = expression.trim() === '' ? new Error('It is empty') : parses(plain)
  if (problem === undefined) return expression
  throw expressionInvalid(expression, problem)
}

function parses(code: string): unknown {
  try {
    // Compiled only, never run.
    void new Script(code)
    return undefined
  } catch (error) {
    return error
  }
}
