include $(sort $(wildcard $(BR2_EXTERNAL_HOWLATE_PATH)/package/*/*.mk))
