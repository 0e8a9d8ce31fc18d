import type { FileEdit, FixCandidate, FixContext, FixLayer, SourceFile } from '../candidates.js'
import {
  childNode,
  editsId,
  findSite,
  type FoundNode,
  nameOfNode,
  type ParsedSource,
  SourceEdit,
  type SyntaxNode,
} from '../source-text.js'
import type { StepFacts, Symptom, SymptomClass } from '../symptoms.js'

/** Input of operators. Contains only sources that could be parsed. */
export interface OperatorContext extends Omit<FixContext, 'sources'> {
  readonly sources: readonly ParsedSource[]
  /** Policies in YAML, which are not parsed. */
  readonly policies: readonly SourceFile[]
  readonly steps: readonly StepFacts[]
  /** Locations in the sources that the stack of the error names, innermost first. */
  readonly thrownAt: readonly SourceOffset[]
}

export interface SourceOffset {
  readonly source: ParsedSource
  readonly offset: number
}

/** Proposes edits for the symptoms that it knows. */
export type Operator = (context: OperatorContext) => FixCandidate[]

interface CandidateText extends Pick<FixCandidate, 'operator' | 'layer' | 'title'> {
  readonly symptom: Symptom
  /** The evidence of the symptom unless set. */
  readonly why?: string
  readonly placebo?: FixCandidate | undefined
}

/** A candidate of one edit; none if the edit changes nothing or breaks the syntax. */
export const candidateOf = (
  edit: SourceEdit | FileEdit | undefined,
  { symptom, placebo, ...text }: CandidateText,
): FixCandidate[] => {
  const changed = edit instanceof SourceEdit ? edit.finish() : edit
  if (changed === undefined) return []
  const edits = [changed]
  return [
    {
      id: editsId(edits),
      why: symptom.evidence,
      ...text,
      symptom: symptom.class,
      steps: symptom.step === undefined ? [] : [symptom.step],
      edits,
      author: 'rule',
      ...(placebo !== undefined && { placebo }),
    },
  ]
}

/** A change of one file, and its location in it; the whole file if there is none. */
export interface Proposal extends Partial<Pick<CandidateText, 'why' | 'placebo' | 'symptom'>> {
  readonly edit: SourceEdit | FileEdit | undefined
  readonly title: string
  readonly node?: SyntaxNode
}

/** An operator that proposes changes of each file for each symptom of some classes. */
export const operator =
  (
    name: string,
    layer: FixLayer,
    symptoms: (context: OperatorContext) => readonly Symptom[],
    propose: (
      source: ParsedSource,
      symptom: Symptom,
      context: OperatorContext,
    ) => readonly Proposal[],
  ): Operator =>
  (context) =>
    symptoms(context).flatMap((symptom) =>
      context.sources.flatMap((source) =>
        propose(source, symptom, context).flatMap(({ edit, title, node, ...more }) =>
          candidateOf(edit, {
            operator: name,
            layer,
            title: `${title} in ${node === undefined ? source.path : source.where(node)}`,
            symptom,
            ...more,
          }),
        ),
      ),
    )

export const symptomsOf = (
  { symptoms }: Pick<FixContext, 'symptoms'>,
  ...classes: readonly SymptomClass[]
): Symptom[] => symptoms.filter((symptom) => classes.includes(symptom.class))

/** For a failure that no symptom explains. */
export const oracleSymptom = ({
  oracleReason,
  findings,
}: Pick<OperatorContext, 'oracleReason' | 'findings'>): Symptom => {
  const [step] = findings?.causes[0]?.steps ?? []
  return {
    class: 'wrong-result',
    ...(step !== undefined && { step }),
    evidence: oracleReason ?? 'The result of the run is wrong.',
    confidence: 'hint',
    facts: {},
  }
}

/** The file with the code of a symptom, or all files if it is not known. */
export const sourcesFor = (
  { sources }: Pick<OperatorContext, 'sources'>,
  { site }: Symptom,
): readonly ParsedSource[] => {
  const found = findSite(sources, site)
  return found === undefined ? sources : [found.source]
}

export const isAround = (
  { start, end }: Pick<SyntaxNode, 'start' | 'end'>,
  offset: number,
): boolean => start <= offset && offset < end

/** True if the stack of the error passes through a node. */
export const isThrownIn = (
  { thrownAt }: Pick<OperatorContext, 'thrownAt'>,
  source: ParsedSource,
  node: SyntaxNode,
): boolean => thrownAt.some((at) => at.source === source && isAround(node, at.offset))

/** Calls of a function by its text, such as `JSON.parse`. */
export const callsOf = (source: ParsedSource, callee: string): FoundNode[] =>
  source
    .ofType('CallExpression')
    .filter(({ node }) => source.textOf(childNode(node, 'callee')!) === callee)

/** A number with a name: a property, a variable, a default or an assignment. */
export interface NumericSetting {
  readonly source: ParsedSource
  readonly name: string
  readonly node: SyntaxNode
  readonly value: number
  readonly around: readonly SyntaxNode[]
}

const SETTING_PARTS: Readonly<Record<string, readonly [name: string, value: string]>> = {
  ObjectProperty: ['key', 'value'],
  ClassProperty: ['key', 'value'],
  VariableDeclarator: ['id', 'init'],
  AssignmentPattern: ['left', 'right'],
  AssignmentExpression: ['left', 'right'],
}

/** Numbers whose name matches, everywhere in the sources. */
export const numericSettings = (
  sources: readonly ParsedSource[],
  pattern: RegExp,
): NumericSetting[] =>
  sources.flatMap((source) =>
    source.ofType(...Object.keys(SETTING_PARTS)).flatMap(({ node, around }) => {
      const [nameField, valueField] = SETTING_PARTS[node.type]!
      const name = nameOfNode(childNode(node, nameField))
      const value = childNode(node, valueField)
      if (name === undefined || value?.type !== 'NumericLiteral' || !pattern.test(name)) return []
      return [{ source, name, node: value, value: Number(value['value']), around }]
    }),
  )

/** Value of a constant number. */
export const constantOf = (source: ParsedSource, { name }: SyntaxNode): SyntaxNode | undefined =>
  source
    .ofType('VariableDeclarator')
    .filter(({ node }) => nameOfNode(childNode(node, 'id')) === name)
    .map(({ node }) => childNode(node, 'init'))
    .find((init) => init?.type === 'NumericLiteral')

const FUNCTIONS = [
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
]

export const isFunctionNode = ({ type }: SyntaxNode): boolean => FUNCTIONS.includes(type)

export const isLoopNode = ({ type }: SyntaxNode): boolean =>
  /^(?:While|DoWhile|For|ForOf|ForIn)Statement$/.test(type)

/** The innermost function around a node. */
export const functionAround = ({ around }: FoundNode): SyntaxNode | undefined =>
  around.findLast(isFunctionNode)

/** True where `await` can be used: in an async function, or outside of any. */
export const canAwait = (found: FoundNode): boolean => {
  const inner = functionAround(found)
  return inner === undefined || inner['async'] === true
}

/** The same node with the nodes around it. */
export const foundIn = (source: ParsedSource, node: SyntaxNode): FoundNode =>
  source.nodes.find((each) => each.node === node) ?? { node, around: [] }
