import type { ParsedSource, SyntaxNode } from './source-text.js'

/** A value that code computes from its own text alone. */
export type ConstantValue = string | number | readonly ConstantValue[]

/** Value of an expression that contains no data of a run; undefined if it may. */
export function constantValue(node: SyntaxNode | undefined): ConstantValue | undefined {
  if (node === undefined) return undefined
  switch (node.type) {
    case 'StringLiteral':
    case 'NumericLiteral':
      return node.raw['value'] as string | number
    case 'TemplateLiteral': {
      const parts = [...node.children('quasis'), ...node.children('expressions')]
        .toSorted((left, right) => left.start - right.start)
        .map((part) => (part.type === 'TemplateElement' ? part.text : constantValue(part)))
      return parts.includes(undefined) ? undefined : parts.map(textOf).join('')
    }
    case 'ArrayExpression': {
      const elements = node.children('elements').map(constantValue)
      return elements.includes(undefined) ? undefined : (elements as ConstantValue[])
    }
    case 'BinaryExpression':
      return sumOf(node)
    case 'Identifier': {
      const [declared] = declarationsOf(node.source, node.text)
      const isOnly = declared?.parent?.raw['kind'] === 'const'
      const init = declared?.child('init')
      return isOnly && init !== undefined && !init.isAround(node.start)
        ? constantValue(init)
        : undefined
    }
    case 'CallExpression':
      return callValue(node)
    default:
      return undefined
  }
}

export const declarationsOf = (source: ParsedSource, name: string): SyntaxNode[] =>
  source.ofType('VariableDeclarator').filter((each) => each.child('id')?.text === name)

const textOf = (value: ConstantValue | undefined): string => String(value)

function sumOf(node: SyntaxNode): ConstantValue | undefined {
  const [left, right] = [constantValue(node.child('left')), constantValue(node.child('right'))]
  if (left === undefined || right === undefined) return undefined
  const areNumbers = typeof left === 'number' && typeof right === 'number'
  const operator = node.raw['operator']
  if (operator === '+') return areNumbers ? left + right : textOf(left) + textOf(right)
  if (!areNumbers) return undefined
  if (operator === '-') return left - right
  if (operator === '*') return left * right
  return operator === '/' ? left / right : undefined
}

function callValue({ callee, args }: SyntaxNode): ConstantValue | undefined {
  const values = args.map(constantValue)
  if (values.includes(undefined)) return undefined
  const given = values as ConstantValue[]
  if (/^String\.from(?:CharCode|CodePoint)$/.test(callee?.text ?? ''))
    return String.fromCodePoint(...given.map((each) => Math.abs(Number(each)) & 0xffff))
  if (callee?.text === 'String') return textOf(given[0])
  if (callee?.text === 'Number') return Number(given[0])
  if (callee?.text === 'atob') return decoded(textOf(given[0]), 'base64')
  if (/^Buffer\.from$/.test(callee?.text ?? ''))
    return decoded(
      textOf(given[0]),
      given[1] === 'hex' || given[1] === 'base64' ? given[1] : 'utf8',
    )
  const object = constantValue(callee?.object)
  if (object === undefined) return undefined
  const [first = ','] = given
  const name = callee?.name ?? ''
  if (typeof object === 'object') {
    if (name === 'join') return object.map(textOf).join(textOf(first))
    return name === 'reverse' ? object.toReversed() : undefined
  }
  const text = textOf(object)
  switch (name) {
    case 'split':
      return text.split(textOf(first))
    case 'concat':
      return [text, ...given].map(textOf).join('')
    case 'toString':
    case 'trim':
      return text.trim()
    case 'toUpperCase':
      return text.toUpperCase()
    case 'toLowerCase':
      return text.toLowerCase()
    default:
      return undefined
  }
}

const decoded = (text: string, encoding: 'base64' | 'hex' | 'utf8'): string =>
  Buffer.from(text, encoding).toString()
