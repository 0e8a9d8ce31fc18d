import { recordOf } from '@retake/tape'
import { isVariantName } from '../answer-values.js'
import type { ParsedSource, SyntaxNode } from '../source-text.js'
import { NEXT_PAGE } from '../symptoms.js'
import {
  accessText,
  numbersOf,
  objectKey,
  operator,
  type Operator,
  type Proposal,
  symptomsOf,
  thrownOrWrong,
} from './operator.js'
import { toolAnswers } from './tool-loop.js'

/** Reads every page of a list that a tool or a function of the project returns in pages. */
const allPages = operator(
  'all-pages',
  'tool',
  (context) => {
    const found = symptomsOf(context, 'missing-pages').filter(
      ({ facts }) => facts['tool'] !== undefined,
    )
    return found.length > 0 ? found : thrownOrWrong(context)
  },
  (source, { class: kind, facts, evidence }, { steps, sources }) => {
    if (kind !== 'missing-pages')
      return pagedFunctions(sources).flatMap((paged) => pagesOf(source, paged))
    const { tool, marker, list, value } = facts as {
      readonly [name in 'tool' | 'marker' | 'list']: string
    } & { readonly value: unknown }
    const stem = marker.replace(/^(?:next|has)_?/i, '')
    const declared = [
      ...steps
        .flatMap(({ tools }) => tools.filter(({ name }) => name === tool))
        .flatMap(({ schema }) => Object.keys(recordOf(schema['properties']))),
      ...source.ofType('ObjectPattern').flatMap(({ propertyNames }) => propertyNames),
    ].filter((name) => PAGE_ARGUMENT.test(name))
    const argument = declared.find((name) => isVariantName(name, stem)) ?? declared[0]
    if (argument === undefined) return []
    const next =
      typeof value !== 'boolean'
        ? `page${accessText(marker)}`
        : /offset|start|skip/i.test(argument)
          ? 'all.length'
          : 'count + 1'
    const calls = [
      ...toolAnswers(source).flatMap(({ dispatch: node, isAwaited }) =>
        node === undefined ? [] : [{ node, isAwaited }],
      ),
      ...source
        .ofType('CallExpression')
        .filter(({ callee }) => isVariantName(callee?.name ?? '', tool))
        .map((node) => ({ node, isAwaited: node.parent?.type === 'AwaitExpression' })),
    ]
    return calls.flatMap(({ node, isAwaited }): Proposal[] => {
      const [given, ...others] = node.args
      if (others.length > 0) return []
      const args = given === undefined ? 'more' : `{ ...${given.text}, ...more }`
      const helper = allPagesText({ isAwaited, list, marker, argument, next })
      const edit = source.editWith(helper, (name) =>
        node.replace(
          `${name}((more${source.isTyped ? ': any' : ''}) => ${node.callee!.text}(${args}))`,
        ),
      )
      return [{ node, edit, title: `Read all pages of ${tool}`, why: evidence }]
    })
  },
)

const PAGE_ARGUMENT =
  /^(?:cursor|page(?:_?(?:token|number|index|no))?|offset|after|from|start(?:_?after)?|skip|token|continuation(?:_?token)?|next)$/i

/** A function of the project that returns a list in pages. */
interface PagedFunction {
  readonly name: string
  readonly node: SyntaxNode
  /** Field that says that there is another page, or how many there are. */
  readonly marker: string
  readonly fields: readonly string[]
  readonly argument: string
  /** Position of the argument, or of the object with it. */
  readonly position: number
  readonly isInObject: boolean
  /** Number of the first page, unless the marker is the next page. */
  readonly first: number
}

const PAGE_COUNT = /^(?:total_?pages|pages|page_?count|num_?pages|last_?page)$/i
const IS_MORE = /^(?:has_?|more$)/i

const pagedFunctions = (sources: readonly ParsedSource[]): PagedFunction[] =>
  sources.flatMap((source) =>
    source
      .filter((node) => node.isFunction)
      .flatMap((node): PagedFunction[] => {
        const name = (node.child('id') ?? node.child('key') ?? node.parent?.child('id'))?.name
        const isOwn = (each: SyntaxNode): boolean => node.isAround(each.start) && each !== node
        const returned = [
          ...source.ofType('ReturnStatement').filter(isOwn),
          ...(node.child('body')?.type === 'ObjectExpression' ? [node.child('body')!] : []),
        ]
        const fields = source
          .ofType('ObjectProperty')
          .filter((each) => returned.some((one) => one.isAround(each.start)))
          .flatMap((each) => each.child('key')?.name ?? [])
        const marker =
          fields.find((each) => NEXT_PAGE.test(each)) ??
          fields.find((each) => PAGE_COUNT.test(each))
        const params = node.children('params').flatMap((param, position) => {
          const plain = param.type === 'AssignmentPattern' ? param.child('left')! : param
          const isInObject = plain.type === 'ObjectPattern'
          const each = isInObject ? plain.children('properties') : [param]
          return each.flatMap((part) => {
            const value = isInObject ? part.child('value')! : part
            const argument = isInObject ? part.child('key')?.name : plain.name
            const initial = value.type === 'AssignmentPattern' ? value.child('right') : undefined
            return argument !== undefined && PAGE_ARGUMENT.test(argument)
              ? [{ argument, position, isInObject, first: numbersOf(initial)[0] ?? 1 }]
              : []
          })
        })
        const [param] = params
        if (name === undefined || marker === undefined || param === undefined) return []
        return [{ ...param, name, node, marker, fields }]
      }),
  )

const callsOf = (source: ParsedSource, { name, node: declared }: PagedFunction): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(({ callee }) => callee?.name === name)
    .filter((node) => declared.source !== source || !declared.isAround(node.start))

function pagesOf(source: ParsedSource, paged: PagedFunction): Proposal[] {
  const { marker, argument, position, isInObject, first, name } = paged
  return callsOf(source, paged).flatMap((node): Proposal[] => {
    if (node.around.some((each) => each.isLoop)) return stopsTooEarly(node, paged)
    const isAwaited = node.parent?.type === 'AwaitExpression'
    const declared = (isAwaited ? node.parent.parent : node.parent)?.child('id')
    const read = [
      ...(declared?.propertyNames ?? []),
      ...source
        .ofType('MemberExpression')
        .flatMap((each) =>
          each.object!.text === declared?.name || each.object!.isAround(node.start)
            ? (each.name ?? [])
            : [],
        ),
    ]
    const list = read.find((each) => paged.fields.includes(each) && each !== marker)
    if (list === undefined || read.includes(marker)) return []
    const { args } = node
    const [given, start] = [args[position], numbersOf(args[position])[0] ?? first]
    const next =
      PAGE_COUNT.test(marker) || IS_MORE.test(marker)
        ? /offset|start|skip|from/i.test(argument)
          ? 'all.length'
          : start === 0
            ? 'count'
            : 'count + 1'
        : `page${accessText(marker)}`
    if (!isInObject && args.length < position) return []
    const passed = isInObject
      ? given === undefined
        ? 'more'
        : `{ ...${given.text}, ...more }`
      : `more${accessText(argument)}${given === undefined ? '' : ` ?? ${given.text}`}`
    const texts = args.map(({ text }) => text)
    texts[position] = passed
    const helper = allPagesText({
      isAwaited,
      list,
      marker,
      argument,
      next,
      ...(PAGE_COUNT.test(marker) && { more: `count < page${accessText(marker)}` }),
    })
    const edit = source.editWith(helper, (helperName) =>
      node.replace(
        `${helperName}((more${source.isTyped ? ': any' : ''}) => ${node.callee!.text}(${texts.join(', ')}))`,
      ),
    )
    const why = `${name} returns its list in pages (${marker}), and only the first one is read.`
    return [{ node, edit, title: `Read all pages of ${name}`, why }]
  })
}

/** Conditions of a loop over pages that end it before the last one. */
function stopsTooEarly(node: SyntaxNode, { marker, name }: PagedFunction): Proposal[] {
  const { source } = node
  const loop = node.around.findLast((each) => each.isLoop)!
  const declared = node.parent?.type === 'AwaitExpression' ? node.parent.parent : node.parent
  const id = declared?.child('id') ?? declared?.child('left')
  const taken = id?.children('properties').find((each) => each.child('key')?.name === marker)
  const more = taken?.child('value')?.text ?? (id?.name && `${id.name}${accessText(marker)}`)
  const why = `${name} says if there is another page (${marker}).`
  const compared = source
    .ofType('BinaryExpression')
    .filter((each) => loop.isAround(each.start))
    .map((each) => ({
      each,
      sign: String(each.raw['operator']),
      left: each.child('left')!,
      right: each.child('right')!,
    }))
  // A page with fewer items than the limit need not be the last one.
  const short = compared
    .filter(({ left, sign }) => left.name === 'length' && /^(?:[=!]==?|[<>]=?)$/.test(sign))
    .filter(({ left, right }) => right.text !== '0' && left.object !== undefined)
    .flatMap(({ each, sign }): Proposal[] => {
      if (more === undefined || PAGE_COUNT.test(marker)) return []
      const choice = each.parent?.type === 'ConditionalExpression' ? each.parent : undefined
      const isNext = choice?.child('consequent')?.text === more
      const edit = isNext
        ? choice.replace(more)
        : each.replace(/^[=>]/.test(sign) ? more : `!${more}`)
      return [{ node: each, edit, title: `Continue as long as ${name} has another page`, why }]
    })
  const last = compared
    .filter(({ sign, right }) => sign === '<' && PAGE_COUNT.test(right.name ?? ''))
    .map(({ each, left, right }) => ({
      node: each,
      edit: each.replace(`${left.text} <= ${right.text}`),
      title: 'Read the last page, too',
      why,
    }))
  return [...short, ...last]
}

const allPagesText = ({
  isAwaited,
  list,
  marker,
  argument,
  next,
  more = `page${accessText(marker)}`,
}: {
  readonly [name in 'list' | 'marker' | 'argument' | 'next']: string
} & { readonly isAwaited: boolean; readonly more?: string }): string => `
/** Answers of all pages as one. */
${isAwaited ? 'async ' : ''}function allPages(load⟨: (more: any) => any⟩)⟨: any⟩ {
  const first = ${isAwaited ? 'await ' : ''}load({})
  if (!Array.isArray(first?.${list})) return first
  const all = [...first.${list}]
  let page = first
  for (let count = 1; ${more} && count < 1000; count++) {
    page = ${isAwaited ? 'await ' : ''}load({ ${objectKey(argument)}: ${next} })
    all.push(...page.${list})
  }
  return { ...first, ${objectKey(list)}: all, ${objectKey(marker)}: null }
}`

export const pageOperators: readonly Operator[] = [allPages]
