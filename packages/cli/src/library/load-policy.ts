import type { Policy } from '@retake/guard'

/**
 * Reads a policy from YAML, JSON or a module, for `guard()`. Folders in it are relative to the
 * file. A file may contain one policy or a list, and name presets under `presets`.
 */
export async function loadPolicy(file: string): Promise<readonly Policy[]> {
  const policies = await import('@retake/guard/policy-files')
  return policies.loadPolicy(file)
}
