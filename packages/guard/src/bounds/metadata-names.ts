/** Names under which clouds offer credentials to their machines. */
const NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'api.metadata.cloud.ibm.com',
  'rancher-metadata',
])

/** Whether a canonical name is one of those. They are refused before anybody resolves them. */
export const isMetadataName = (name: string): boolean =>
  NAMES.has(name) || name.endsWith('.metadata.google.internal')
