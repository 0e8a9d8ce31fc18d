import type { VerbTable } from '@retake/runner/command-line'

/** Packages with commands of their own. Each may be missing. */
const PACKAGES = ['web', 'lab', 'guard', 'interop'].map((name) => ({
  name: `@retake/${name}`,
  verbs: `@retake/${name}/verbs`,
  table: `${name}Verbs`,
}))

function isInstalled({ verbs }: { readonly verbs: string }): boolean {
  try {
    return import.meta.resolve(verbs) !== ''
  } catch {
    return false
  }
}

/** The commands of all installed capabilities. */
export async function capabilityVerbs(): Promise<VerbTable> {
  const tables = await Promise.all(
    PACKAGES.filter(isInstalled).map(async ({ verbs, table }) => {
      const module = (await import(verbs)) as Readonly<Record<string, VerbTable>>
      return module[table]
    }),
  )
  return Object.assign({}, ...tables) as VerbTable
}

export const missingCapabilities = (): string[] =>
  PACKAGES.filter((each) => !isInstalled(each)).map(({ name }) => name)
