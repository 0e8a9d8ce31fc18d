import { createRequire } from 'node:module'
import path from 'node:path'
import { errors } from '@retake/engine/errors'

/** The part of the TypeScript API, before version 7, that is used here. */
interface TypeScript {
  readonly version: string
  readonly ModuleKind: { readonly ESNext: number }
  readonly ScriptTarget: { readonly ES2022: number }
  readonly sys: { readonly fileExists: (file: string) => boolean }
  findConfigFile(from: string, exists: (file: string) => boolean): string | undefined
  readConfigFile(file: string, read: unknown): { readonly config?: unknown }
  parseJsonConfigFileContent(
    config: unknown,
    host: object,
    folder: string,
  ): { readonly options: Readonly<Record<string, unknown>> }
  transpileModule(
    source: string,
    options: { readonly compilerOptions: object; readonly fileName: string },
  ): { readonly outputText: string; readonly sourceMapText?: string }
}

const TEXT =
  /\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|`(?:\\[^]|[^`\\])*`|(?<=[=(,:;!&|?{}[\n]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g
const DECORATOR = /(?:^|[{};(]|\bexport|\bdefault)\s*@[\p{ID_Start}$_(]/mu

/** True if JavaScript contains decorators, which no version of Node can run yet. */
export const usesDecorators = (code: string): boolean =>
  code.includes('@') && DECORATOR.test(code.replaceAll(TEXT, ' '))

/**
 * Compiles a file with decorators, standard or legacy as in its tsconfig.json, with the project's
 * own TypeScript, because no other compiler knows all options for decorators.
 */
export function compileDecorators(source: string, file: string): { code: string; map: string } {
  let found: Partial<TypeScript> | undefined
  try {
    found = createRequire(file)('typescript') as Partial<TypeScript>
  } catch {
    // Not installed in the project.
  }
  if (found?.transpileModule === undefined)
    throw errors.DECORATORS_NOT_COMPILED(file, found?.version)
  const typescript = found as TypeScript
  const { ModuleKind, ScriptTarget } = typescript
  const { outputText, sourceMapText = '' } = typescript.transpileModule(source, {
    fileName: file,
    compilerOptions: {
      ...projectOptions(typescript, file),
      module: ModuleKind.ESNext,
      target: ScriptTarget.ES2022,
      isolatedModules: true,
      sourceMap: true,
      inlineSourceMap: false,
      declaration: false,
      noEmit: false,
      removeComments: false,
    },
  })
  return { code: outputText.replace(/\n\/\/# sourceMappingURL=.*\s*$/, ''), map: sourceMapText }
}

function projectOptions(typescript: TypeScript, file: string): object {
  const config = typescript.findConfigFile(path.dirname(file), typescript.sys.fileExists)
  if (config === undefined) return {}
  const { readFile } = typescript.sys as { readFile?: unknown }
  const { config: content = {} } = typescript.readConfigFile(config, readFile)
  // Only the options are needed: no folder is searched for source files.
  const host = { ...typescript.sys, readDirectory: () => [] }
  return typescript.parseJsonConfigFileContent(content, host, path.dirname(config)).options
}
