import type { FileEdit, FixCandidate, FixContext, FixLayer, SourceFile } from '../candidates.js'
import {
  editId,
  findSite,
  type ParsedSource,
  type SourceEdit,
  type SourceOffset,
  type SyntaxNode,
} from '../source-text.js'
import type { StepFacts, Symptom, SymptomClass } from '../symptoms.js'

/** Input of operators. Contains only sources that could be parsed. */
export interface OperatorContext extends Omit<FixContext, 'sources'> {
  readonly sources: readonly ParsedSource[]
  /** Policies in YAML, which are not parsed. */
  readonly policies: readonly SourceFile[]
  readonly steps: readonly StepFacts[]
  /** Source locations in the error's stack, innermost first. */
  readonly thrownAt: readonly SourceOffset[]
}

/** Proposes edits for the symptoms that it knows. */
export type Operator = (context: OperatorContext) => FixCandidate[]

interface CandidateText extends Pick<FixCandidate, 'operator' | 'layer' | 'title'> {
  readonly symptom: Symptom
  /** Default: the evidence of the symptom. */
  readonly why?: string
}

/** A candidate with one edit; empty without an edit. */
export const candidateOf = (
  edit: FileEdit | undefined,
  { symptom, ...text }: CandidateText,
): FixCandidate[] =>
  edit === undefined
    ? []
    : [
        {
          id: editId(edit),
          why: symptom.evidence,
          ...text,
          symptom: symptom.class,
          steps: symptom.step === undefined ? [] : [symptom.step],
          edits: [edit],
          author: 'rule',
        },
      ]

/** A change to one file. `node` is its location; missing if the whole file changes. */
export interface Proposal extends Partial<Pick<CandidateText, 'why' | 'symptom'>> {
  readonly edit: SourceEdit
  /** Without the location, which is appended. */
  readonly title: string
  readonly node?: SyntaxNode
  /** The same change at an unrelated location. */
  readonly placebo?: Proposal | undefined
}

/**
 * Makes an operator that proposes changes to each file for each symptom of a class, or for the
 * symptoms that a function selects.
 */
export const operator =
  (
    name: string,
    layer: FixLayer,
    symptoms: SymptomClass | ((context: OperatorContext) => readonly Symptom[]),
    propose: (
      source: ParsedSource,
      symptom: Symptom,
      context: OperatorContext,
    ) => readonly Proposal[],
  ): Operator =>
  (context) => {
    const found =
      typeof symptoms === 'string' ? symptomsOf(context, symptoms) : [...symptoms(context)]
    return found.flatMap((symptom) =>
      context.sources.flatMap((source) => {
        const made = ({ edit, title, node, placebo, ...more }: Proposal): FixCandidate[] => {
          const where = node === undefined ? source.path : `${source.path}:${node.line}`
          const text = { operator: name, layer, title: `${title} in ${where}`, symptom, ...more }
          const [other] = placebo === undefined ? [] : made(placebo)
          return candidateOf(edit.finish(), text).map((candidate) =>
            other === undefined ? candidate : { ...candidate, placebo: other },
          )
        }
        return propose(source, symptom, context).flatMap(made)
      }),
    )
  }

export const symptomsOf = (
  { symptoms }: Pick<FixContext, 'symptoms'>,
  ...classes: readonly SymptomClass[]
): Symptom[] => symptoms.filter((symptom) => classes.includes(symptom.class))

/** The error that ended the run; for `operator`. */
export const thrown = (context: OperatorContext): Symptom[] =>
  symptomsOf(context, 'exception').slice(0, 1)

/** For a failure that no symptom explains. */
export const oracleSymptom = ({ oracleReason, findings }: OperatorContext): Symptom => {
  const [step] = findings?.causes[0]?.steps ?? []
  return {
    class: 'wrong-result',
    ...(step !== undefined && { step }),
    evidence: oracleReason ?? 'The result of the run is wrong.',
    confidence: 'hint',
    facts: {},
  }
}

/** The error that ended the run, or a failure that no symptom explains. */
export const thrownOrWrong = (context: OperatorContext): Symptom[] => [
  symptomsOf(context, 'exception')[0] ?? oracleSymptom(context),
]

/** True for the file that contains the code of a symptom, and for every file if that is unknown. */
export const isSourceOf = (
  { sources }: OperatorContext,
  source: ParsedSource,
  { site }: Symptom,
): boolean => (findSite(sources, site)?.source ?? source) === source

/** True if the stack of the error passes through a node. */
export const isThrownIn = ({ thrownAt }: OperatorContext, node: SyntaxNode): boolean =>
  thrownAt.some((at) => at.source === node.source && node.isAround(at.offset))

export const LIST_METHODS =
  /^(?:map|filter|forEach|reduce|find|findIndex|some|every|flatMap|join|at|entries|length|slice|sort|toSorted|concat|indexOf|push)$/
export const TEXT_METHODS =
  /^(?:trim|toLowerCase|toUpperCase|split|replace|replaceAll|startsWith|endsWith|match|matchAll|includes|padStart|charAt|substring)$/
export const NUMBER_METHODS = /^(?:toFixed|toPrecision|toExponential)$/

const WHOLES = [
  ['ForOfStatement', 'right'],
  ['SpreadElement', 'argument'],
  ['VariableDeclarator', 'init'],
] as const

/** Values on the line of an offset that are iterated or destructured. */
export const wholesAt = (source: ParsedSource, offset: number): SyntaxNode[] =>
  WHOLES.flatMap(([type, field]) =>
    source.ofType(type).flatMap((node) => {
      const pattern = node.child('id')?.type ?? 'ArrayPattern'
      const value = node.child(field)
      const isHere = node.line === source.lineAt(offset) && pattern.endsWith('Pattern')
      return isHere && value !== undefined ? [value] : []
    }),
  )

const SETTING_PARTS: Readonly<Record<string, readonly [name: string, value: string]>> = {
  ObjectProperty: ['key', 'value'],
  ClassProperty: ['key', 'value'],
  VariableDeclarator: ['id', 'init'],
  AssignmentPattern: ['left', 'right'],
  AssignmentExpression: ['left', 'right'],
}

/** Numbers whose name matches: properties, variables, defaults and assignments. */
export const numericSettings = (source: ParsedSource, pattern: RegExp) =>
  source.ofType(...Object.keys(SETTING_PARTS)).flatMap((setting) => {
    const [nameField, valueField] = SETTING_PARTS[setting.type]!
    const name = setting.child(nameField)?.name
    const node = setting.child(valueField)
    if (name === undefined || node?.type !== 'NumericLiteral' || !pattern.test(name)) return []
    return [{ name, node, value: Number(node.raw['value']) }]
  })

/** Values of settings whose name matches: any expression. */
export const settingValues = (source: ParsedSource, pattern: RegExp) =>
  source.ofType(...Object.keys(SETTING_PARTS)).flatMap((setting) => {
    const [nameField, valueField] = SETTING_PARTS[setting.type]!
    const name = setting.child(nameField)?.name
    const node = setting.child(valueField)
    if (name === undefined || node === undefined || !pattern.test(name)) return []
    // The inner default is a setting of its own: `(timeout = 5) => …`.
    return node.type === 'AssignmentPattern' || node.isFunction ? [] : [{ name, node, setting }]
  })

/** Numbers that an expression can have, as far as the code shows them. */
export function numbersOf(node: SyntaxNode | undefined, depth = 0): number[] {
  if (node === undefined || depth > 5) return []
  const of = (field: string): number[] => numbersOf(node.child(field), depth + 1)
  switch (node.type) {
    case 'NumericLiteral':
      return [Number(node.raw['value'])]
    case 'StringLiteral':
      return /^\d+$/.test(node.name!) ? [Number(node.name)] : []
    case 'ConditionalExpression':
      return [...of('consequent'), ...of('alternate')]
    case 'LogicalExpression':
      return [...of('left'), ...of('right')]
    case 'BinaryExpression':
      return of('left').flatMap((left) =>
        of('right').flatMap((right) =>
          node.raw['operator'] === '*'
            ? [left * right]
            : node.raw['operator'] === '+'
              ? [left + right]
              : [],
        ),
      )
    case 'TSAsExpression':
    case 'ParenthesizedExpression':
      return of('expression')
    case 'CallExpression':
      return /^(?:Number|parseInt|Math\.(?:max|min|round))$/.test(node.callee?.text ?? '')
        ? node.args.flatMap((each) => numbersOf(each, depth + 1))
        : []
    case 'Identifier':
    case 'MemberExpression':
      return settingsNamed(node).flatMap((each) => numbersOf(each, depth + 1))
    default:
      return []
  }
}

/** Values of the variables or properties that an expression names. */
const settingsNamed = ({ source, name }: SyntaxNode): SyntaxNode[] =>
  name === undefined
    ? []
    : source.ofType('VariableDeclarator', 'ObjectProperty', 'AssignmentPattern').flatMap((each) => {
        const [nameField, valueField] = SETTING_PARTS[each.type]!
        return each.child(nameField)?.name === name ? (each.child(valueField) ?? []) : []
      })

/** A property name as an object literal writes it. */
export const objectKey = (name: string): string =>
  /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? name : JSON.stringify(name)

/** A property access as code: `.name`, or `["odd name"]`. */
export const accessText = (name: string): string =>
  objectKey(name) === name ? `.${name}` : `[${JSON.stringify(name)}]`
